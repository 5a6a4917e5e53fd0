"""A realm and its settings: one frozen dataclass per concern, composed in `Realm`."""

from gateway.domain.realm.brute_force import BruteForce, BruteForceStrategy
from gateway.domain.realm.events import EventsConfig
from gateway.domain.realm.flow_bindings import FlowBindings
from gateway.domain.realm.localization import Localization
from gateway.domain.realm.login import LoginSettings
from gateway.domain.realm.otp_policy import OtpAlgorithm, OtpPolicy, OtpType
from gateway.domain.realm.password_policy import PasswordPolicy, PasswordRule
from gateway.domain.realm.realm import MASTER, Realm
from gateway.domain.realm.refresh_tokens import RefreshTokenPolicy
from gateway.domain.realm.security_headers import SecurityHeaders
from gateway.domain.realm.session_limits import SessionLimits
from gateway.domain.realm.smtp import Smtp
from gateway.domain.realm.token_lifespans import TokenLifespans
from gateway.domain.realm.transport import SslRequired
