"""Submissions of students: right ones, and those that break a rule or a limit."""

from cmab_gym.grading import Assignment, Instance

COINS = Instance("coins", "CMAB-Independent-v0", {"rewards": "bernoulli", "means": [0.3, 0.7]})


def small_assignment(**keywords):
    """An assignment that takes little time."""
    given = {"name": "a", "text": "", "reference": "ucb", "instances": (COINS,), "rounds": 40}
    return Assignment(**{**given, "trials": 1, **keywords})


UCB = """
import numpy as np


class Agent:
    def reset(self, problem, rng):
        self.B, self.problem = problem.reward_range, problem
        self.n, self.s = np.zeros(problem.n_arms), np.zeros(problem.n_arms)

    def act(self):
        if 0 in self.n:
            return int(np.argmin(self.n))
        return np.argmax(self.s / self.n + self.B * np.sqrt(2 * np.log(self.n.sum()) / self.n))

    def update(self, arm, reward):
        self.n[arm] += 1
        self.s[arm] += reward
"""

# UCB with running means, as textbooks have it: equal means may differ by rounding.
RUNNING_MEANS = UCB.replace("self.s / self.n +", "self.s +").replace(
    "self.s[arm] += reward", "self.s[arm] += (reward - self.s[arm]) / self.n[arm]"
)

C_UCB = """
import numpy as np


class Agent:
    def reset(self, problem, rng):
        self.p, self.K = problem, problem.n_arms
        self.n, self.s = np.zeros(self.K), np.zeros(self.K)
        self.pseudo = np.zeros((self.K, self.K))

    def act(self):
        t = self.n.sum()
        if t == 0:
            return 0
        n = np.maximum(self.n, 1)
        mean, significant = self.s / n, self.n >= t / self.K
        best = max(np.flatnonzero(significant), key=lambda k: mean[k])
        phi = self.pseudo / n
        np.fill_diagonal(phi, mean)
        least = np.where(significant, phi, np.inf).min(axis=1)
        index = mean + self.p.reward_range * np.sqrt(2 * np.log(t) / n)
        index[self.n == 0] = np.inf
        allowed = least >= mean[best]
        allowed[best] = True
        index[~allowed] = -np.inf
        return int(np.argmax(index))

    def update(self, arm, reward):
        j = int(np.argmin(abs(self.p.reward_support - reward)))
        self.n[arm] += 1
        self.s[arm] += reward
        self.pseudo[:, arm] += self.p.pseudo_rewards[:, arm, j]
"""

TS = """
import numpy as np


class Agent:
    def reset(self, problem, rng):
        self.rng, self.B = rng, problem.reward_range
        self.n, self.s = np.zeros(problem.n_arms), np.zeros(problem.n_arms)

    def act(self):
        if 0 in self.n:
            return int(np.argmin(self.n))
        return int(np.argmax(self.rng.normal(self.s / self.n, np.sqrt(self.B / (self.n + 1)))))

    def update(self, arm, reward):
        self.n[arm] += 1
        self.s[arm] += reward
"""


def acting(code):
    """A submission whose act() runs this code; without a return it pulls arm 0."""
    lines = "\n        ".join([*code.split("\n"), "return 0"])
    return f"""
class Agent:
    def reset(self, problem, rng):
        self.problem, self.rng = problem, rng

    def act(self):
        {lines}

    def update(self, arm, reward):
        pass
"""


# Each with a part of the sentence that the student reads.
HOSTILE = {
    "hangs": (acting("while True: pass"), "longer than the limit of 0.7 s"),
    "sleeps": (acting("import time\ntime.sleep(60)"), "longer than the limit of 0.7 s"),
    "hangs when imported": ("while True: pass", "longer than the limit of 0.7 s"),
    "allocates": (acting("x = bytearray(10**10)"), "more memory than the limit"),
    "allocates an array": (acting("import numpy as np\nx = np.ones(10**9)"), "MemoryError"),
    "prints a lot": (acting("while True: print('x' * 10_000)"), "printed more than the limit"),
    "prints errors": (
        acting("import sys\nwhile True: sys.stderr.write('x' * 10_000)"),
        "printed more than the limit",
    ),
    "forks": (
        acting("import os, time\nfor _ in range(3):\n    if not os.fork(): time.sleep(9)"),
        "may not start another process",
    ),
    "starts a shell": (acting("import os\nos.system('sleep 9')"), "may not start another process"),
    "starts a program": (
        acting("import subprocess\nsubprocess.run(['sleep', '9'])"),
        "may not start another process",
    ),
    "kills": (acting("import os\nos.kill(os.getppid(), 9)"), "may not send signals"),
    "exits": (acting("import sys\nsys.exit()"), "it called sys.exit"),
    "exits at once": (acting("import os\nos._exit(0)"), r"its process ended \(exit code 0\)"),
    "crashes": (acting("import os, signal\nos.abort()"), "signal SIGABRT"),
    "recurses": (acting("self.act()"), "RecursionError"),
    "uses the network": (acting("import socket\nsocket.socket()"), "may not use the network"),
    "writes a file": (acting("open('x', 'w').write('x' * 10**9)"), "may not write files"),
    "writes by number": (
        acting("import os\nos.open('x', os.O_CREAT | os.O_WRONLY)"),
        "may not write files",
    ),
    "deletes a file": (acting("import os\nos.remove('/nowhere')"), "may not change files"),
    "raises its limits": (
        acting("import resource\nresource.setrlimit(resource.RLIMIT_AS, (-1, -1))"),
        "may not change its limits",
    ),
    "clears the list of what is refused": (
        acting("import __main__, os\n__main__.REFUSED.clear()\nos.system('sleep 9')"),
        "may not start another process",
    ),
    "replaces a function of the check": (
        acting("import os\nos.path.realpath = lambda path: '/dev/x'\nopen('/etc/passwd').read()"),
        "may not read files other than its own",
    ),
    "opens a database": (
        acting("import sqlite3\nsqlite3.connect('/etc/passwd')"),
        "may not read files other than its own",
    ),
    "stops": (
        acting("import signal\nsignal.raise_signal(signal.SIGSTOP)"),
        "longer than the limit of 0.7 s",
    ),
    "hangs in an error": (
        acting(
            "class Slow(Exception):\n    def __str__(self):\n        while True: pass\nraise Slow"
        ),
        "longer than the limit of 0.7 s",
    ),
    "reads a file": (acting("open('/etc/passwd').read()"), "may not read files other than its own"),
    "imports the package": ("import cmab_gym\nAgent = int", "may not import cmab_gym"),
    "monkeypatches the package": (
        acting("import cmab_gym.envs.vector as v\nv.BanditVectorEnv.step = None"),
        "may not import cmab_gym",
    ),
    "reads the means": (acting("return self.problem.means.argmax()"), "no attribute 'means'"),
    "answers by itself": (
        acting(
            "import os\nfor fd in range(3, 4096):\n    try: os.write(fd, b'x' * 9000)\n    "
            "except OSError: pass"
        ),
        "wrote to the grader's pipe",
    ),
    "closes the pipes": (
        acting("import os\nos.closerange(0, 4096)"),
        "closed the grader's pipe|process ended",
    ),
    "has another class": ("class Agents: pass", r"student\.py has no class Agent"),
    "has no method": ("class Agent: pass", "no attribute 'reset'"),
    "does not parse": ("class Agent:\n  def", r"SyntaxError: \D+ \(student\.py line 2\)"),
    "is binary": (b"\x80\x00\xff", r"not UTF-8 text \(byte 1\): save it as UTF-8"),
    "holds a null": (b"x = 1\x00", "null bytes"),
    "returns a float": (acting("return 1.0"), r"returned 1\.0 of type float: expected an integer"),
    "returns NaN": (acting("return float('nan')"), "returned nan of type float"),
    "returns a bool": (acting("return True"), "returned True of type bool"),
    "returns nothing": (acting("return None"), "returned None of type NoneType"),
    "is out of range": (acting("return 2"), "expected an integer from 0 to 1"),
    "is negative": (acting("return -1"), "expected an integer from 0 to 1"),
    "raises": (acting("1 / 0"), r"round 1: ZeroDivisionError: .*\(student\.py line 7\)"),
    "raises a long error": (acting("raise ValueError('x\\x1b[2J\\n' * 10**6)"), "ValueError: x"),
}
