"""Files of users with agents."""

MINE = """
class Mine:
    def reset(self, problem, rng): pass
    def act(self): return 0
    def update(self, arm, reward): pass
"""
