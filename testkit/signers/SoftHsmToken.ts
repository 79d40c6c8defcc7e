// Tokens of SoftHSM, and keys in them.
import { Effect } from "effect"
import { randomUUID } from "node:crypto"
import type { Curve } from "../../src/domain/signer/Signer.ts"
import { attributes, flags } from "../../packages/signer-pkcs11/src/Cryptoki.ts"
import type { Handle } from "../../packages/signer-pkcs11/src/Cryptoki.ts"
import * as Library from "./SoftHsmLibrary.ts"

export const pin = "1234"
const officerPin = "5678"

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

const slotOf = (made: Library.Making, wanted: string): Handle => {
  const found = made.C_GetSlotList(true).find((slot) => made.C_GetTokenInfo(slot).label.trimEnd() === wanted)
  if (found === undefined) throw new Error(`there is no token with the label ${wanted}`)
  return found
}

/** A new token. The process is not logged in to it afterwards. */
const makeToken = (made: Library.Making): Token => {
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

/** A new token in the library of the process. */
export const token = Effect.promise(async () => makeToken(await Library.loaded()))
