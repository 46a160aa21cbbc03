"""Running submissions: the submission service, jobs and the executors that take them."""
