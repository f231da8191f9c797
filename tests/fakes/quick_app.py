"""What every application makes anew and alike, made once for all tests: only time differs."""
from argon2 import PasswordHasher
from flask import Flask
from jinja2 import BytecodeCache
from werkzeug.routing import Rule

from registry import accounts


class KeptTemplates(BytecodeCache):
    """Compiled templates, for as long as their text stays the same."""

    def __init__(self):
        self._codes = {}

    def load_bytecode(self, bucket):
        bucket.code = self._codes.get((bucket.key, bucket.checksum))

    def dump_bytecode(self, bucket):
        self._codes[bucket.key, bucket.checksum] = bucket.code


class KeptRule(Rule):
    """A route that compiles how its addresses are made once for all routes that read the same."""

    _compiled = {}

    def _compile_builder(self, append_unknown=True):
        key = (*self._trace, repr(self.defaults), append_unknown)
        if key not in self._compiled:
            self._compiled[key] = super()._compile_builder(append_unknown)
        return self._compiled[key]


def quicken():
    """From here on, in this process; programs that tests start are as they are for users."""
    Flask.jinja_options = {"bytecode_cache": KeptTemplates()}
    Flask.url_rule_class = KeptRule
    accounts._HASHER = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
    accounts._NOBODY = accounts._HASHER.hash("nobody")
