// The libraries of PKCS#11 that the operator names, each loaded once for the process.
import { Effect, Fiber, Redacted, Semaphore } from "effect"
import { loadPackage } from "../RemoteSigner.ts"
import type { SignerUnavailable } from "../SignerBackend.ts"
import { flags, results } from "./Cryptoki.ts"
import type { Cryptoki, Package } from "./Cryptoki.ts"
import { codeOf, ofError, unavailable } from "./Pkcs11Failures.ts"
import * as Pkcs11Tokens from "./Pkcs11Tokens.ts"
import type { Session, TokenName, Tokens } from "./Pkcs11Tokens.ts"

/**
 * Calls of libraries at the same time. By default, libuv has four threads, which also read files and resolve host names. This limit
 * leaves one thread free if a device does not answer.
 */
const inParallel = 3

/** The name is a variable, so that the compiler does not need the types of the optional package. */
const packageName: string = "pkcs11js"

const load = (): Promise<{ readonly default: Package }> => import(packageName)

/** Libraries by path. A library has one state per process, so it is loaded once. */
const loaded = new Map<string, Tokens>()

const initialize = ({ PKCS11 }: Package, path: string): Tokens => {
  const found = loaded.get(path)
  if (found !== undefined) return found
  const library = new PKCS11()
  library.load(path)
  try {
    library.C_Initialize({ flags: flags.osLocking })
  } catch (error) {
    if (codeOf(error) !== results.alreadyInitialized) throw error
  }
  const tokens = Pkcs11Tokens.make(library)
  loaded.set(path, tokens)
  return tokens
}

const open = Effect.fnUntraced(function* (module: string, path: string) {
  const { default: pkcs11 } = yield* loadPackage(packageName, load)
  return yield* Effect.try(() => initialize(pkcs11, path)).pipe(
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

export interface Pkcs11Modules {
  has(module: string): boolean
  /** Runs a call in a session of a token. Fails if the operator has no such module. `isNew` means that a signer is created. */
  use<A>(
    module: string,
    token: TokenName,
    login: { readonly pin: Redacted.Redacted; readonly isNew?: boolean },
    call: (session: Session, library: Cryptoki) => Promise<A>
  ): Effect.Effect<A, SignerUnavailable>
}

/** `paths` are the paths of the libraries, by the name that the operator gives them. */
export const make = (paths: ReadonlyMap<string, string>): Pkcs11Modules => {
  /** One call is left for the other modules if the device of a module does not answer. */
  const perModule = paths.size > 1 ? inParallel - 1 : inParallel
  const turnsOf = new Map([...paths.keys()].map((module) => [module, Semaphore.makeUnsafe(perModule)]))

  return {
    has: (module) => paths.has(module),
    use: Effect.fnUntraced(function* (module, token, { pin, isNew = false }, call) {
      const path = paths.get(module)
      const turnsOfModule = turnsOf.get(module)
      if (path === undefined || turnsOfModule === undefined) {
        return yield* unavailable("not_found", { detail: "PKCS11_MODULES has no module with this name" })
      }
      const tokens = yield* open(module, path)
      return yield* detached(turnsOfModule, () => tokens.use(token, { pin: Redacted.value(pin), isNew }, call))
    })
  }
}
