// `pkcs11`: a key in a token of PKCS#11. It signs digests on secp256k1, and messages on ed25519.
import { Effect } from "effect"
import { BadRequest } from "../../../../domain/request/Request.ts"
import type { Curve } from "../../../../domain/signer/Signer.ts"
import type { Provider } from "../RemoteSigner.ts"
import type { ConfigOf, Prepared, RequestOf } from "../SignerBackend.ts"
import { mechanisms } from "./Cryptoki.ts"
import type { Cryptoki } from "./Cryptoki.ts"
import { fields, unavailable } from "./Pkcs11Failures.ts"
import * as Pkcs11Keys from "./Pkcs11Keys.ts"
import type { KeyName } from "./Pkcs11Keys.ts"
import type { Pkcs11Modules } from "./Pkcs11Modules.ts"
import type { Session } from "./Pkcs11Tokens.ts"

type Config = ConfigOf<"pkcs11">
type Named = Omit<RequestOf<"pkcs11">, "pin">

/** Signatures per second of one token. Devices are slower. */
const rate = 5000

/** Bytes of a signature on either curve. */
const signatureLength = 64

/** The id is preferred, because it does not change. A key in a token may have no id. */
const keyOf = ({ key_id, key_label }: Config): KeyName => (key_id === undefined ? { key_label } : { key_id })

const privateKey = (session: Session, library: Cryptoki, name: KeyName) => {
  const text = JSON.stringify(name)
  const key = session.keys.get(text) ?? Pkcs11Keys.findPrivate(library, session.handle, name)
  session.keys.set(text, key)
  return key
}

export const make = (modules: Pkcs11Modules): Provider<RequestOf<"pkcs11">, Named, Config> => {
  const read = ({ config, secret }: Prepared<Named>, name: KeyName, isNew: boolean) =>
    modules.use(config.module, config, { pin: secret, isNew }, async (session, library) => ({
      serial: session.serial,
      isShared: Pkcs11Keys.isSharedLabel(library, session.handle, config.key_label),
      key: await Pkcs11Keys.readPublic(library, session.handle, name)
    }))

  return {
    fields,
    prepare: ({ pin, ...config }) =>
      modules.has(config.module)
        ? Effect.succeed({ config, secret: pin })
        : Effect.fail(BadRequest.of([{ field: "config.module", message: "is not a name in PKCS11_MODULES" }])),
    resolve: (named) =>
      Effect.map(read(named, named.config, true), ({ serial, key: { id, ...key } }) => {
        const { module, token_label, key_label } = named.config
        return {
          ...key,
          state: `in the token with the serial number ${serial}`,
          config: {
            module,
            token_label,
            token_serial: serial,
            ...(key_label === undefined ? {} : { key_label }),
            ...(id === undefined ? {} : { key_id: id })
          }
        }
      }),
    ofKey: (request, { key_id, key_label }) =>
      request.key_id === undefined && request.key_label === key_label && key_id !== undefined
        ? { ...request, key_id }
        : request,
    describe: (prepared) =>
      Effect.map(read(prepared, keyOf(prepared.config), false), ({ serial, isShared, key: { curve, publicKey } }) => ({
        curve,
        publicKey,
        state: `in the token with the serial number ${serial}`,
        ...(isShared ? { warning: "another key of the token has the same label; this signer does not use it" } : {})
      })),
    sign: Effect.fnUntraced(function* ({ config, secret }, curve: Curve, message) {
      const signature = yield* modules.use(config.module, config, { pin: secret }, (session, library) => {
        const key = privateKey(session, library, keyOf(config))
        library.C_SignInit(session.handle, { mechanism: mechanisms[curve] }, key)
        return library.C_SignAsync(session.handle, Buffer.from(message), Buffer.alloc(signatureLength))
      })
      return signature.length === signatureLength ? { signature } : yield* unavailable("unexpected")
    }),
    identity: ({ config: { module, token_label } }) => {
      const token = `pkcs11 ${module} ${token_label}`
      return { service: `the PKCS#11 module ${module}`, breaker: token, account: token, rate }
    },
    ambientKey: () => undefined
  }
}
