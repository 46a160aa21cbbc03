"""Model gateway: gives agents a language model on the operator's account. The one declared exit, off by default.

    agent -> relay -> gateway -- front --link--> model process --https--> upstream
                      no key, no network         the key, the network, no task

The gateway parses what a hostile agent sends and builds it anew; the model process does it again, adds the key and our
terms, and builds what comes back anew too. Everything that is sent is in the run's sealed transcript.
"""
