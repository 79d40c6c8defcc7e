// The proxies whose `X-Forwarded-For` is believed, as the setting TRUSTED_PROXIES lists them.
import { Schema } from "effect"
import { CommaSeparated } from "../../outbound/CommaSeparated.ts"
import * as ClientAddress from "../../server/responses/ClientAddress.ts"

/** `10.1.0.0/16,::1`. */
export const FromText = CommaSeparated.pipe(Schema.decodeTo(ClientAddress.TrustedProxies))
