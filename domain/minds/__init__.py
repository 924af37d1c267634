"""What the minds may propose: the forms of their answers, and the checks that an answer passes."""
