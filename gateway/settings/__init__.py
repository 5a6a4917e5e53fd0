"""What an operator may set: one frozen `Settings`, made once when the program starts.

`sources` is the only reader of the environment and of `.env`, `model` names every setting,
`values` reads and writes single ones.
"""

from gateway.settings.model import SETTING_NAMES, Settings, read_settings
from gateway.settings.sources import (
    SCRIPT_NAMES,
    SettingsError,
    environment_variables,
    file_variable,
    load_settings,
    share_metrics,
    variable,
)
from gateway.settings.values import TcpAddress, UnixAddress, written
