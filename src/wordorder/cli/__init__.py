"""The ``wordorder`` command line."""

from wordorder.errors import say_on_interrupt

# The modules of the commands import libraries, which takes a second.
say_on_interrupt("wordorder: Ctrl-C stopped the command before it had begun.")
