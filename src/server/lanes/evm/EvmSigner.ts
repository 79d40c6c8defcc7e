// Signs evm transactions: the digest of the unsigned transaction, by the key of the relayer, sealed with the signature.
import { Effect } from "effect"
import type { Evm, Request } from "../../../domain/transaction/evm/Evm.ts"
import type { SignerId } from "../../../domain/signer/Signer.ts"
import * as EvmBytes from "../../chains/evm/EvmBytes.ts"
import { wrongKey } from "../LaneNetwork.ts"
import type { KeyOptions, LaneKeys, SigningFailed, Unsigned } from "../LaneNetwork.ts"
import { numbersOf } from "./EvmMemory.ts"

/** A no-op sends nothing to the account itself. */
export const noop = (address: string): Request => ({ to: address, value: 0n })

export const unsignedOf = ({
  lane,
  relayer,
  request,
  place,
  sign
}: Pick<Unsigned<Evm>, "lane" | "relayer" | "request" | "place" | "sign">): EvmBytes.Unsigned => {
  const [{ address }] = lane.accounts
  const { to, value, data } = request ?? noop(address)
  const { fees, gasLimit } = sign.offer
  return {
    chainId: numbersOf(relayer).chainId,
    nonce: Number(place.sequence),
    fees,
    gasLimit,
    value,
    ...(to === undefined ? {} : { to }),
    ...(data === undefined ? {} : { data })
  }
}

export interface EvmSigner {
  sign(signerId: SignerId, unsigned: EvmBytes.Unsigned): Effect.Effect<EvmBytes.SealedTransaction, SigningFailed>
}

/** With this id an operator finds the signature of a transaction in the log of the key service. */
const logRequest = (signerId: SignerId, { hash }: EvmBytes.SealedTransaction, requestId: string) =>
  Effect.annotateLogs(Effect.logDebug("transaction signed by a key service"), {
    signer_id: signerId,
    hash,
    key_service_request_id: requestId
  })

/** `address`: the account of the lane, in lower case. A signature of another key would be a transaction of another account. */
export const make = (keysOf: (options: KeyOptions) => LaneKeys, address: string): EvmSigner => {
  const keys = keysOf({
    curve: "secp256k1",
    isOwn: (publicKey) => Effect.map(EvmBytes.addressOf(publicKey), (own) => own === address)
  })

  const sign: EvmSigner["sign"] = Effect.fn("EvmSigner.sign")(function* (signerId, unsigned) {
    const digest = yield* EvmBytes.digestOf(unsigned)
    const { signature, isChecked, requestId } = yield* keys.sign(signerId, digest)
    if (!isChecked && (yield* EvmBytes.signerOf(digest, signature)) !== address) return yield* wrongKey()
    const signed = yield* EvmBytes.seal(unsigned, signature)
    if (requestId !== undefined) yield* logRequest(signerId, signed, requestId)
    return signed
  })

  return { sign }
}
