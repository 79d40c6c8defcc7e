// A token of SoftHSM with a key on each curve. Calls of the library can be made to fail, as a device makes them fail.
import { secp256k1 } from "@noble/curves/secp256k1"
import { Effect, Layer, Queue } from "effect"
import { randomUUID } from "node:crypto"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import * as path from "node:path"
import type { Curve } from "../../src/domain/signer/Curve.ts"
import { attributes, flags, results } from "../../src/server/signers/backends/pkcs11/Cryptoki.ts"
import type { Cryptoki, Handle } from "../../src/server/signers/backends/pkcs11/Cryptoki.ts"
import * as Keys from "./Keys.ts"
import { StandIn, secretText } from "./StandIn.ts"
import type { Fault, Operation } from "./StandIn.ts"

/** The library: `TEST_SOFTHSM`. */
export const library = process.env.TEST_SOFTHSM ?? "/usr/lib/softhsm/libsofthsm2.so"

export const pin = "1234"
const officerPin = "5678"

/** The parts that make tokens and keys. */
interface Making extends Cryptoki {
  C_InitToken(slot: Handle, pin: string, label: string): void
  C_InitPIN(session: Handle, pin: string): void
  C_Logout(session: Handle): void
  C_GenerateKeyPair(
    session: Handle,
    mechanism: { readonly mechanism: number },
    publicKey: ReadonlyArray<object>,
    privateKey: ReadonlyArray<object>
  ): unknown
  C_DestroyObject(session: Handle, object: Handle): void
  C_CloseAllSessions(slot: Handle): void
}

type Load = () => Promise<{ readonly default: { PKCS11: new () => Making } }>

const packageName: string = "pkcs11js"
const load: Load = () => import(packageName)

/** The library reads its configuration once for the process. */
const configure = () => {
  const folder = mkdtempSync(path.join(tmpdir(), "effect-relayer-softhsm-"))
  mkdirSync(path.join(folder, "tokens"))
  const file = path.join(folder, "softhsm2.conf")
  writeFileSync(file, `directories.tokendir = ${path.join(folder, "tokens")}\nlog.level = ERROR\n`)
  process.env.SOFTHSM2_CONF = file
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }))
}

/** What calls of the library do besides. They are those of the layer that is open. */
interface Calls {
  readonly sign: (message: Buffer, signed: Promise<Buffer>) => Promise<Buffer>
  readonly isOtherKey: () => boolean
}

let calls: Calls | undefined

/** The methods of an instance are its own, and the service makes the instance. */
const watched = (PKCS11: new () => Making): new () => Making =>
  class extends PKCS11 {
    constructor() {
      super()
      const { C_SignAsync: sign, C_GetAttributeValue: read } = this
      this.C_SignAsync = (session, message, signature) => {
        const signed = sign.call(this, session, message, signature)
        return calls === undefined ? signed : calls.sign(message, signed)
      }
      this.C_GetAttributeValue = (session, object, template) => {
        const values = read.call(this, session, object, template)
        if (template[0]?.type !== attributes.ecPoint || calls?.isOtherKey() !== true) return values
        return [{ type: attributes.ecPoint, value: Buffer.from(Keys.make("secp256k1").publicKey) }]
      }
    }
  }

const open = async () => {
  const { default: pkcs11 } = await load()
  configure()
  const made = new pkcs11.PKCS11()
  made.load(library)
  made.C_Initialize({ flags: flags.osLocking })
  pkcs11.PKCS11 = watched(pkcs11.PKCS11)
  return made
}

let opened: ReturnType<typeof open> | undefined

const parameters = { secp256k1: "06052b8104000a", ed25519: "06032b6570" } as const
const generators = { secp256k1: 0x1040, ed25519: 0x1055 } as const
const readWrite = 0x02
const officer = 0
const onToken = 0x001
const isPrivate = 0x002
const canSign = 0x108

export interface Token {
  readonly label: string
  /** Adds a key with the label. */
  add(curve: Curve, label: string, id: string, signs?: boolean): void
  /** Ends all sessions, as a device does that was pulled out. */
  readonly unplug: () => void
  readonly remove: (label: string) => void
}

const slotOf = (made: Making, wanted: string): Handle => {
  const found = made.C_GetSlotList(true).find((slot) => made.C_GetTokenInfo(slot).label.trimEnd() === wanted)
  if (found === undefined) throw new Error(`there is no token with the label ${wanted}`)
  return found
}

/** A new token. The process is not logged in to it afterwards. */
const makeToken = (made: Making): Token => {
  const label = randomUUID().slice(0, 30)
  made.C_InitToken(slotOf(made, ""), officerPin, label.padEnd(32))
  const slot = slotOf(made, label)

  const session = <A>(user: number, userPin: string, work: (handle: Handle) => A): A => {
    const handle = made.C_OpenSession(slot, flags.serialSession | readWrite)
    try {
      made.C_Login(handle, user, userPin)
      return work(handle)
    } finally {
      made.C_Logout(handle)
      made.C_CloseSession(handle)
    }
  }

  session(officer, officerPin, (handle) => made.C_InitPIN(handle, pin))

  const add: Token["add"] = (curve, keyLabel, id, signs = true) =>
    session(1, pin, (handle) => {
      const common = [
        { type: onToken, value: true },
        { type: attributes.label, value: keyLabel },
        { type: attributes.id, value: Buffer.from(id, "hex") }
      ]
      made.C_GenerateKeyPair(
        handle,
        { mechanism: generators[curve] },
        [...common, { type: attributes.ecParams, value: Buffer.from(parameters[curve], "hex") }],
        [...common, { type: isPrivate, value: true }, { type: canSign, value: signs }]
      )
    })

  return {
    label,
    add,
    unplug: () => made.C_CloseAllSessions(slot),
    remove: (keyLabel) =>
      session(1, pin, (handle) => {
        made.C_FindObjectsInit(handle, [{ type: attributes.label, value: keyLabel }])
        for (const object of made.C_FindObjects(handle, 10)) made.C_DestroyObject(handle, object)
        made.C_FindObjectsFinal(handle)
      })
  }
}

const codes: Partial<Record<Fault, number>> = {
  throttled: results.sessionCount,
  refused: results.keyFunctionNotPermitted,
  "disabled key": results.keyTypeInconsistent,
  broken: results.deviceError
}

const failed = (code: number) => Promise.reject(Object.assign(new Error(secretText), { code }))

const withHighS = (signature: Buffer) => {
  const low = secp256k1.Signature.fromCompact(new Uint8Array(signature)).normalizeS()
  return Buffer.from(new secp256k1.Signature(low.r, secp256k1.CURVE.n - low.s).toCompactRawBytes())
}

/** Makes calls of the library fail in the whole process, for the time of the scope. */
const faulty = Effect.gen(function* () {
  const faults = new Map<Operation, { readonly fault: Fault; times: number }>()
  const counts = new Map<Operation, number>()
  const left = yield* Queue.unbounded<void>()
  const silent = new Set<() => void>()

  const take = (operation: Operation) => {
    counts.set(operation, (counts.get(operation) ?? 0) + 1)
    const planned = faults.get(operation)
    return planned === undefined || planned.times-- <= 0 ? undefined : planned.fault
  }

  const silence = () => {
    Queue.offerUnsafe(left, undefined)
    return new Promise<Buffer>((_, reject) => silent.add(() => reject(new Error(secretText))))
  }

  const answer = (fault: Fault, message: Buffer, signature: Buffer) => {
    const code = codes[fault]
    if (code !== undefined) return failed(code)
    if (fault === "silent") return silence()
    if (fault === "truncated") return signature.subarray(10)
    if (fault === "high s") return message.length === 32 ? withHighS(signature) : signature
    return Buffer.from(Keys.make("secp256k1").sign(message.subarray(0, 32)))
  }

  calls = {
    sign: async (message, signed) => {
      const fault = take("sign")
      const signature = await signed
      return fault === undefined ? signature : answer(fault, message, signature)
    },
    isOtherKey: () => take("describe") === "other key"
  }
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      calls = undefined
      for (const end of silent) end()
    })
  )

  return {
    fail: (operation: Operation, fault: Fault, times = Number.POSITIVE_INFINITY) =>
      void faults.set(operation, { fault, times }),
    reply: () => {
      throw new Error(noHttp)
    },
    count: (operation: Operation) => counts.get(operation) ?? 0,
    silent: Queue.take(left)
  }
})

/** A new token in the library of the process. */
export const token = Effect.promise(async () => {
  opened ??= open()
  return makeToken(await opened)
})

const noHttp = "a library does not answer with HTTP"

export const layer = Layer.effect(
  StandIn,
  Effect.gen(function* () {
    const { add, label } = yield* token
    add("secp256k1", "secp256k1", "01")
    add("ed25519", "ed25519", "02")
    return StandIn.of({
      ...(yield* faulty),
      url: "a library has none",
      curves: ["secp256k1", "ed25519"],
      request: (curve) => ({ type: "pkcs11", config: { module: "soft", token_label: label, key_label: curve, pin } }),
      without: {
        html: noHttp,
        "html of a proxy": noHttp,
        "throttled for a second": "a library names no time",
        "throttled for a minute": "a library names no time",
        "clock skew": "a library needs no clock",
        "expired login": "the login to a token does not expire",
        "no such key": "the key is looked for in the token, not by the library"
      }
    })
  })
)
