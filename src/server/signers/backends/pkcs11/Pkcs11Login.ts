// Logs in to tokens without ever locking one. All sessions of a process share one login to a token.
import * as crypto from "node:crypto"
import { codeOf, unavailable } from "./Pkcs11Failures.ts"
import { flags, results, user } from "./Cryptoki.ts"
import type { Cryptoki, Handle } from "./Cryptoki.ts"

export interface Login {
  readonly pin: string
  /** Whether a signer is being created, so that its PIN has not been verified yet. */
  readonly isNew: boolean
}

/** What this process knows about the PIN of one token, as digests keyed with a random key of the process. */
export interface PinMemory {
  accepted: Buffer | undefined
  /** Wrong PINs, which are not tried again. */
  readonly wrong: Set<string>
}

export const makeMemory = (): PinMemory => ({ accepted: undefined, wrong: new Set() })

/** After this number of wrong PINs, no signer of the token is created until a restart, so that a caller cannot guess the PIN. */
const maxWrong = 10

const secret = crypto.randomBytes(32)

const digestOf = (pin: string) => crypto.createHmac("sha256", secret).update(pin).digest()

const isRefusal = (code: number | undefined) =>
  code === results.pinIncorrect || code === results.pinInvalid || code === results.pinLength

const isAccepted = (digest: Buffer, { accepted }: PinMemory) =>
  accepted !== undefined && crypto.timingSafeEqual(digest, accepted)

const compare = (digest: Buffer, memory: PinMemory) => {
  if (isAccepted(digest, memory)) return
  memory.wrong.add(digest.toString("hex"))
  throw unavailable("login", { detail: "the token has accepted another PIN before" })
}

const prepare = ({ pin, isNew }: Login, { wrong }: PinMemory) => {
  if (isNew && wrong.size >= maxWrong) {
    throw unavailable("login", {
      detail: "too many wrong PINs were given for this token: restart the service to create its signers"
    })
  }
  const digest = digestOf(pin)
  if (wrong.has(digest.toString("hex"))) {
    throw unavailable("login", {
      detail: "the token has refused this PIN, which is not tried again until the service restarts"
    })
  }
  return digest
}

/** While the process is logged in, the token checks no PIN, so the service compares it with the PIN that the token accepted. */
export const check = (login: Login, memory: PinMemory): void => compare(prepare(login, memory), memory)

/** No PIN is tried if one more failure would lock the token. */
export const logIn = (
  library: Cryptoki,
  session: Handle,
  tokenFlags: number,
  login: Login,
  memory: PinMemory
): void => {
  const digest = prepare(login, memory)
  if ((tokenFlags & flags.locked) !== 0) throw unavailable("login", { detail: "the PIN of the token is locked" })
  if ((tokenFlags & flags.finalTry) !== 0 && !isAccepted(digest, memory)) {
    throw unavailable("login", {
      detail: "one more wrong PIN would lock the token: log in to it with another program first"
    })
  }
  // The token counts wrong PINs, so a PIN that is known to be wrong does not reach it.
  if (memory.accepted !== undefined) compare(digest, memory)
  try {
    library.C_Login(session, user, login.pin)
    memory.accepted = digest
  } catch (error) {
    if (codeOf(error) === results.alreadyLoggedIn) return compare(digest, memory)
    if (isRefusal(codeOf(error))) {
      memory.wrong.add(digest.toString("hex"))
      // Somebody has changed the PIN of the token.
      memory.accepted = undefined
    }
    throw error
  }
}
