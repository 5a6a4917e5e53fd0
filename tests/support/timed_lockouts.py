"""Sign-ins at a guarded realm of a gateway whose clock is set.

Spec: 2.1 and part 8, rules 1 and 2; Keycloak: 4
"""

from dataclasses import dataclass
from typing import Any, Final

from tests.support.administered_realm import person
from tests.support.administration import PASSWORD
from tests.support.sign_in_browser import SignInRealm
from tests.support.timed_gateway import Timed

REFERENCE: Final = {
    "bruteForceProtected": True,
    "bruteForceStrategy": "MULTIPLE",
    "failureFactor": 6,
    "waitIncrementSeconds": 1800,
    "maxFailureWaitSeconds": 5400,
    "maxDeltaTimeSeconds": 86_400,
    "quickLoginCheckMilliSeconds": 1000,
    "minimumQuickLoginWaitSeconds": 60,
}
"""Spec: part 8."""
ADDRESS: Final = "203.0.113.9"
NEVER_FAILED: Final = (0, 0, False)
FOR_EVER: Final = 2**63 - 1
MINUTE: Final = 60


@dataclass(frozen=True, slots=True)
class Guarded:
    """The realm, its users, and the time."""

    timed: Timed
    realm: SignInRealm

    def add(self, name: str, **fields: Any) -> str:
        """Add a user; return the name."""
        self.realm.realm.change("POST", "users", person(name, **fields))
        return name

    def signs_in(
        self, name: str, password: str = PASSWORD, *, address: str = ADDRESS, **form: str
    ) -> bool:
        """Try to sign in with the right password from an address."""
        sent = {"grant_type": "password", "client_id": "page", "username": name}
        browser = self.realm.browser()
        response = browser.http.post(
            browser.protocol("token"),
            data=sent | {"password": password} | form,
            headers={"X-Forwarded-For": address},
        )
        refused = {"error": "invalid_grant", "error_description": "Invalid user credentials"}
        assert response.is_success or response.json() == refused, response.text
        return response.is_success

    def fail(
        self,
        name: str,
        times: int = 1,
        apart: float = 2,
        *,
        address: str = ADDRESS,
        **form: str,
    ) -> None:
        """Sign in with a wrong password, then let seconds pass."""
        for _ in range(times):
            assert not self.signs_in(name, "wrong", address=address, **form)
            self.timed.advance(seconds=apart)

    def record(self, name: str) -> tuple[int, int, bool]:
        """Return the number of failures, the seconds that are left, and whether it is locked."""
        user = self.realm.user_id(name)
        found = self.realm.realm.get(f"attack-detection/brute-force/users/{user}")
        now = int(self.timed.clock.now().timestamp())
        left = found["failedLoginNotBefore"]
        return (
            found["numFailures"],
            max(0, left - now) if left < FOR_EVER else -1,
            found["disabled"],
        )

    def waits(self, name: str, failures: range) -> dict[int, float]:
        """Fail again and again, as soon as it is possible; return the minutes of each lock-out."""
        minutes = {}
        for number in failures:
            self.fail(name, apart=0)
            counted, left, _ = self.record(name)
            assert counted == number
            minutes[number] = left / MINUTE
            if left:
                self.timed.advance(seconds=left - 1)
                assert not self.signs_in(name), "the last second of the lock-out"
            self.timed.advance(seconds=1 if left else 2)
        return minutes
