"""CONFIGURE_RECOVERY_AUTHN_CODES: the user saves a list of recovery codes, which replaces another.

Fields `generatedRecoveryAuthnCodes`, `generatedAt` (milliseconds since 1970), `userLabel` and
`logout-sessions`. The page shows the codes, and its form sends them back; the session knows their
digest alone, so that no other codes are taken. Keycloak: RecoveryAuthnCodesAction (26.7), 16.1
"""

import hashlib
import hmac
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final

from gateway.authentication.account_updates import AccountUpdates
from gateway.authentication.engine.account_changes import NO_CHANGES, credential_changes
from gateway.authentication.engine.required_action import Asked, Performed
from gateway.authentication.engine.sign_in import Form, SignIn
from gateway.authentication.recovery_codes import RECOVERY_CODES, new_codes, new_credential
from gateway.domain.authentication import Challenge, FormName, RecoveryCodeList
from gateway.domain.events import EventType
from gateway.domain.flows import CONFIGURE_RECOVERY_CODES
from gateway.domain.users import Credential

_CODES: Final = "generatedRecoveryAuthnCodes"
_GENERATED_AT: Final = "generatedAt"
_NOTE: Final = "recovery-codes"
"""The note with the digest of the codes that were shown."""
_LONGEST_LABEL: Final = 255
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class ConfigureRecoveryCodes:
    """Shows new codes once, and stores them when the user has saved them."""

    alias = CONFIGURE_RECOVERY_CODES
    may_be_requested = True

    def __init__(self, updates: AccountUpdates) -> None:
        self._updates = updates

    async def ask(self, sign_in: SignIn) -> Challenge:
        codes = RecoveryCodeList(new_codes(), (sign_in.now - _EPOCH) // timedelta(milliseconds=1))
        sign_in.note(_NOTE, _digest(",".join(codes.codes), str(codes.generated_at)))
        return Challenge(
            FormName.CONFIGURE_RECOVERY_CODES,
            {"username": sign_in.user.username},
            recovery_codes=codes,
            required_action=CONFIGURE_RECOVERY_CODES,
        )

    async def submit(self, sign_in: SignIn, form: Form) -> Asked | Performed:
        codes, generated_at = form.get(_CODES, ""), form.get(_GENERATED_AT, "")
        if not hmac.compare_digest(_digest(codes, generated_at), sign_in.notes.get(_NOTE, "")):
            return Asked(await self.ask(sign_in), NO_CHANGES)
        stored, former = await self._store(
            sign_in,
            tuple(codes.split(",")),
            _EPOCH + timedelta(milliseconds=int(generated_at)),
            form.get("userLabel", "").strip(),
        )
        sign_in.note(_NOTE, None)
        kinds = (EventType.UPDATE_CREDENTIAL,)
        return Performed(credential_changes(kinds, RECOVERY_CODES, form), (stored,), former)

    async def _store(
        self, sign_in: SignIn, codes: tuple[str, ...], generated_at: datetime, label: str
    ) -> tuple[Credential, tuple[Credential, ...]]:
        """Store the codes; return them, and the former ones, which they replace."""
        realm_id, user_id = sign_in.realm.id, sign_in.user.id
        async with self._updates.begin(realm_id, user_id) as update:
            users = update.stores.users
            held = await users.credentials(realm_id, user_id)
            others = [one for one in held if one.type != RECOVERY_CODES]
            former = tuple(one for one in held if one.type == RECOVERY_CODES)
            for each in former:
                await users.remove_credential(realm_id, each)
            made = new_credential(user_id, codes, others, generated_at)
            made = replace(made, label=label[:_LONGEST_LABEL] or None)
            stored = await update.add_credential(made)
            await update.replace(update.user, performed=CONFIGURE_RECOVERY_CODES)
        return stored, former


def _digest(codes: str, generated_at: str) -> str:
    shown = f"{generated_at} {codes}"
    return hashlib.sha256(shown.encode("utf-8", "surrogatepass")).hexdigest()
