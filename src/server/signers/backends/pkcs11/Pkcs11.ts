// `pkcs11`: a key in a token of PKCS#11. It signs digests on secp256k1, and messages on ed25519. A package that is installed apart calls the
// libraries, which the operator names.
import { Effect, Fiber, Predicate, Redacted, Semaphore } from "effect"
import { BadRequest } from "../../../../domain/request/Request.ts"
import type { Curve } from "../../../../domain/signer/Signer.ts"
import * as Decode from "../Decode.ts"
import { makeFailures } from "../RemoteSigner.ts"
import type { Provider } from "../RemoteSigner.ts"
import type { ConfigOf, Prepared, RequestOf, SignerUnavailable } from "../SignerBackend.ts"

type Config = ConfigOf<"pkcs11">
type Named = Omit<RequestOf<"pkcs11">, "pin">

type Token = Pick<Named, "token_label" | "token_serial">

/** What names a key in its token. */
interface KeyName {
  readonly key_label?: string | undefined
  readonly key_id?: string | undefined
}

interface Login {
  readonly pin: string
  /** Whether a signer is being created, so that its PIN has not been verified yet. */
  readonly isNew: boolean
}

interface PublicHalf {
  readonly curve: Curve
  /** secp256k1: 33 or 65 bytes, which may be on no curve; ed25519: 32 bytes. */
  readonly point: Uint8Array
  /** Hex. Undefined if the key has no id. */
  readonly id: string | undefined
  /** Serial number of the token. */
  readonly serial: string
  /** Whether a private key with another id has the label too. */
  readonly isShared: boolean
}

/** One library. A promise that it rejects has a `reason` of the table below, and perhaps a `detail`. */
interface Library {
  read(token: Token, login: Login, key: KeyName, label: string | undefined): Promise<PublicHalf>
  sign(token: Token, login: Login, key: KeyName, curve: Curve, message: Uint8Array): Promise<Uint8Array>
}

/** What the service needs of the package: `open` gives the library at a path, which it loads once. */
export interface Package {
  load(): Promise<{ open(path: string): Library }>
}

/** The name is a variable, because the package is not a dependency: it needs a compiler where it is installed. */
const packageName: string = "@effect-relayer/signer-pkcs11"

const loadPackage = (): Promise<Package> => import(packageName)

const { fields, unavailable } = makeFailures({
  unreachable: ["config.module", "the token does not answer"],
  unexpected: ["config.module", "the library does not answer as PKCS#11 requires"],
  login: ["config.pin", "the token refuses the PIN"],
  throttled: ["config.module", "the token has no free session"],
  refused: ["config.key_label", "the token does not let the key sign (CKA_SIGN)"],
  not_found: ["config.token_label", "the module has no such token"],
  bad_key: ["config.key_label", "the token has no usable key with this label and id"],
  mismatch: ["config.key_label", "the private key is not the one of the public key"],
  curve: ["config.key_label", "the key is not on secp256k1 or Ed25519"],
  not_installed: [
    "type",
    `needs the packages ${packageName} and pkcs11js, which cannot be loaded: npm install ${packageName} pkcs11js next to effect-relayer`
  ]
})

type Pkcs11Reason = Parameters<typeof unavailable>[0]

const isReason = (value: unknown): value is Pkcs11Reason => typeof value === "string" && Object.hasOwn(fields, value)

/** `error` is what the package threw. The text of anything else is discarded. */
const ofError = (error: unknown): SignerUnavailable => {
  if (!Predicate.hasProperty(error, "reason") || !isReason(error.reason)) return unavailable("unexpected")
  const detail = Predicate.hasProperty(error, "detail") && Predicate.isString(error.detail) ? error.detail : undefined
  return unavailable(error.reason, { detail })
}

/**
 * Calls of libraries at the same time. By default, libuv has four threads, which also read files and resolve host names. This limit
 * leaves one thread free if a device does not answer.
 */
const inParallel = 3

const turns = Semaphore.makeUnsafe(inParallel)

/** A call that has begun cannot be stopped. When it ends, it releases its session and its permits. */
const detached = <A>(turnsOfModule: Semaphore.Semaphore, call: () => Promise<A>): Effect.Effect<A, SignerUnavailable> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function* () {
      const running = Effect.uninterruptible(Effect.tryPromise({ try: call, catch: ofError }))
      const fiber = yield* Effect.forkDetach(Effect.interruptible(turnsOfModule.withPermit(turns.withPermit(running))))
      return yield* Effect.onInterrupt(restore(Fiber.join(fiber)), () => Effect.sync(() => fiber.interruptUnsafe()))
    })
  )

/** Signatures per second of one token. Devices are slower. */
const rate = 5000

/** Bytes of a signature on either curve. */
const signatureLength = 64

/** The id is preferred, because it does not change. A key in a token may have no id. */
const keyOf = ({ key_id, key_label }: Config): KeyName => (key_id === undefined ? { key_label } : { key_id })

const decode = ({ curve, point }: PublicHalf) =>
  Effect.flatMap(
    Effect.promise(async () =>
      curve === "secp256k1" ? await Decode.ofPoint(point) : { curve, publicKey: new Uint8Array(point) }
    ),
    (key) => (key === undefined ? unavailable("unexpected") : Effect.succeed(key))
  )

/** `paths` are the paths of the libraries, by the name that the operator gives them. */
export const make = (
  paths: ReadonlyMap<string, string>,
  load: () => Promise<Package> = loadPackage
): Provider<RequestOf<"pkcs11">, Named, Config> => {
  /** One call is left for the other modules if the device of a module does not answer. */
  const perModule = paths.size > 1 ? inParallel - 1 : inParallel
  const turnsOf = new Map([...paths.keys()].map((module) => [module, Semaphore.makeUnsafe(perModule)]))

  const libraryOf = Effect.fnUntraced(function* (module: string, path: string) {
    const { open } = yield* Effect.tryPromise({
      try: async () => (await load()).load(),
      catch: () => unavailable("not_installed")
    })
    return yield* Effect.try(() => open(path)).pipe(
      Effect.catchTag("UnknownError", ({ cause }) =>
        Effect.logWarning("library of a PKCS#11 module cannot be loaded").pipe(
          Effect.annotateLogs({ module, error: String(cause) }),
          Effect.andThen(
            unavailable("unexpected", { detail: "the library of the module cannot be loaded: the log says why" })
          )
        )
      )
    )
  })

  const use = Effect.fnUntraced(function* <A>(module: string, call: (library: Library) => Promise<A>) {
    const path = paths.get(module)
    const turnsOfModule = turnsOf.get(module)
    if (path === undefined || turnsOfModule === undefined) {
      return yield* unavailable("not_found", { detail: "PKCS11_MODULES has no module with this name" })
    }
    const library = yield* libraryOf(module, path)
    return yield* detached(turnsOfModule, () => call(library))
  })

  const read = Effect.fnUntraced(function* ({ config, secret }: Prepared<Named>, name: KeyName, isNew: boolean) {
    const login = { pin: Redacted.value(secret), isNew }
    const found = yield* use(config.module, (library) => library.read(config, login, name, config.key_label))
    return { ...(yield* decode(found)), ...found, state: `in the token with the serial number ${found.serial}` }
  })

  return {
    fields,
    prepare: ({ pin, ...config }) =>
      paths.has(config.module)
        ? Effect.succeed({ config, secret: pin })
        : Effect.fail(BadRequest.of([{ field: "config.module", message: "is not a name in PKCS11_MODULES" }])),
    resolve: (named) =>
      Effect.map(read(named, named.config, true), ({ curve, id, publicKey, serial, state }) => {
        const { module, token_label, key_label } = named.config
        return {
          curve,
          publicKey,
          state,
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
      Effect.map(read(prepared, keyOf(prepared.config), false), ({ curve, isShared, publicKey, state }) => ({
        curve,
        publicKey,
        state,
        ...(isShared ? { warning: "another key of the token has the same label; this signer does not use it" } : {})
      })),
    sign: Effect.fnUntraced(function* ({ config, secret }, curve: Curve, message) {
      const login = { pin: Redacted.value(secret), isNew: false }
      const signature = yield* use(config.module, (library) =>
        library.sign(config, login, keyOf(config), curve, message)
      )
      return signature.length === signatureLength ? { signature } : yield* unavailable("unexpected")
    }),
    identity: ({ config: { module, token_label } }) => {
      const token = `pkcs11 ${module} ${token_label}`
      return { service: `the PKCS#11 module ${module}`, breaker: token, account: token, rate }
    },
    ambientKey: () => undefined
  }
}
