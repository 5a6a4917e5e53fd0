"""The composition root: the only room that names concrete classes.

Commands open `Services`; workers build their applications on them.
"""

from gateway.bootstrap.services import Services, open_services
