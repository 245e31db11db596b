"""Reinforcement learning agents, built on stable-baselines3 (the extra `rl`)."""

from cmab_gym.agents.rl.online import A2C, DQN, PPO

__all__ = ["A2C", "DQN", "PPO"]
