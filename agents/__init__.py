"""Agents: the API, index policies, correlated agents, and their names."""

from cmab_gym.agents.api import Agent, AgentError, TrialError
from cmab_gym.agents.correlated.c_bandit import CBandit
from cmab_gym.agents.correlated.tightened import TightenedCBandit
from cmab_gym.agents.index_agent import IndexAgent, IndexPolicy
from cmab_gym.agents.make import make_agent, published
from cmab_gym.agents.one_trial import Copies, OneTrialAgent
from cmab_gym.agents.policies.kl_ucb import KLUCB
from cmab_gym.agents.policies.random_agent import RandomAgent
from cmab_gym.agents.policies.ts import TS
from cmab_gym.agents.policies.ucb import UCB
from cmab_gym.agents.registry import agent_names, register_agent
from cmab_gym.agents.survey.survey_greedy import SurveyGreedy
from cmab_gym.agents.survey.warm_ts import WarmTS

__all__ = [
    "KLUCB",
    "TS",
    "UCB",
    "Agent",
    "AgentError",
    "CBandit",
    "Copies",
    "IndexAgent",
    "IndexPolicy",
    "OneTrialAgent",
    "RandomAgent",
    "SurveyGreedy",
    "TightenedCBandit",
    "TrialError",
    "WarmTS",
    "agent_names",
    "make_agent",
    "published",
    "register_agent",
]
