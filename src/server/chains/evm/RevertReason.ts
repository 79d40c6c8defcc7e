// Why a call fails, from the error of a node: `Error(string)` and `Panic(uint256)` are decoded, other data is shown as it is.
import { Predicate } from "effect"
import { wordsOf } from "../../../domain/transaction/evm/Refusal.ts"
import type { RpcAnswer } from "../RpcBatch.ts"

export type RpcError = Extract<RpcAnswer, { readonly _tag: "RpcError" }>

/** Digits of revert data that are shown. */
const maxLength = 300

/** JSON-RPC code of geth, and of most others, for a call that reverts. */
const reverted = 3

/** Selectors of the two errors that Solidity itself has. */
const errorSelector = "0x08c379a0"
const panicSelector = "0x4e487b71"

const hexData = /^0x[0-9a-f]*$/i

/** Nodes put the data beside the message, or one level deeper. */
const dataIn = (data: unknown): string | undefined => {
  if (Predicate.isString(data)) return hexData.test(data) ? data.toLowerCase() : undefined
  return Predicate.hasProperty(data, "data") ? dataIn(data.data) : undefined
}

/** `Error(string)`: an offset, a length, and the bytes. */
const errorText = (data: string): string | undefined => {
  const bytes = Buffer.from(data.slice(10), "hex")
  if (bytes.length < 64) return undefined
  const length = Number(bytes.readBigUInt64BE(56))
  return bytes.length < 64 + length ? undefined : bytes.subarray(64, 64 + length).toString("utf8")
}

/** The reason in revert data. Undefined: there is none. */
const ofData = (data: string): string | undefined => {
  if (data.startsWith(errorSelector)) {
    const text = errorText(data)
    return text === undefined ? undefined : wordsOf(text)
  }
  if (data.startsWith(panicSelector)) return `panic 0x${BigInt(`0x${data.slice(10) || "0"}`).toString(16)}`
  return data.length > 2 ? data.slice(0, maxLength) : undefined
}

/** Whether the error says that the call reverts. */
export const isRevert = ({ code, message }: RpcError): boolean => code === reverted || /revert/i.test(message)

/** Exceptional halts of the EVM, as geth, revm (anvil, reth), Nethermind and Besu name them. */
const halt =
  /invalid opcode|InvalidFEOpcode|OpcodeNotFound|BadInstruction|INVALID_OPERATION|invalid ?jump|stack ?(?:under|over)flow|stack limit|out of ?gas|gas required exceeds|out of ?offset|return data out of bounds|write protection|max (?:init)?code size|create ?(?:collision|contract)|contract address collision|invalid code/i

/** What nodes say of a halt without its name, in this order: Kaia 2.2.1, Besu (source), and Tempo of anvil 1.7.1 about a value. */
const namelessHalt =
  /VM error occurs while running smart contract|Transaction processing could not be completed due to an exception|value transfer not allowed/i

/** Whether the EVM stops the call, which it does not revert by itself. */
export const isHalt = ({ message }: Pick<RpcError, "message">): boolean =>
  halt.test(message) || namelessHalt.test(message)

/** Whether the error says that the call fails: it reverts, or the EVM stops it. */
export const failsIn = (error: RpcError): boolean => isRevert(error) || isHalt(error)

/** A lack of gas, as geth, Hardhat, Ganache, coreth, Kaia, revm (anvil, reth) and Nethermind name it. */
const lackOfGas = /out ?of ?gas|gas required exceeds/i

/** Whether the call fails because it runs out of gas. Undefined: the error does not say that the call fails. */
export const isOutOfGas = (error: RpcError): boolean | undefined => {
  if (lackOfGas.test(error.message)) return true
  return failsIn(error) ? false : undefined
}

/** Revert data, in lower case. Undefined: the node gives none. */
export const dataOf = (error: RpcError): string | undefined => (isRevert(error) ? dataIn(error.data) : undefined)

export const ofError = ({ message, data }: RpcError): string | undefined => {
  const bytes = dataIn(data)
  const decoded = bytes === undefined ? undefined : ofData(bytes)
  if (decoded !== undefined) return decoded
  const [, text] = /revert(?:ed)?(?: with reason string)?:?\s+['"]?(.+?)['"]?$/i.exec(message) ?? []
  const found = text ?? (isHalt({ message }) ? message : undefined)
  return found === undefined ? undefined : wordsOf(found)
}
