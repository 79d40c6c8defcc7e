// The proxies whose `X-Forwarded-For` is believed, as the setting TRUSTED_PROXIES lists them.
import { Schema, SchemaTransformation } from "effect"
import * as ClientAddress from "../../server/responses/ClientAddress.ts"

/** `10.1.0.0/16,::1`. White space and empty entries are ignored. */
export const FromText = Schema.String.pipe(
  Schema.decodeTo(
    ClientAddress.TrustedProxies,
    SchemaTransformation.transform({
      decode: (text: string): ReadonlyArray<string> =>
        text
          .split(",")
          .map((entry) => entry.trim())
          .filter((entry) => entry !== ""),
      encode: (entries) => entries.join(",")
    })
  )
)
