// Executors of ERC-7821 for tests on real nodes, written as instructions of the EVM: contracts that accounts delegate to, so that they make many
// calls in one transaction.
import { batchMode, executeSelector, supportsModeSelector } from "../src/networks/evm/rules/Batch.ts"

/** The opcodes that the programs use. */
const opcodes: Readonly<Record<string, number>> = {
  stop: 0x00,
  add: 0x01,
  mul: 0x02,
  eq: 0x14,
  iszero: 0x15,
  shr: 0x1c,
  shl: 0x1b,
  address: 0x30,
  caller: 0x33,
  calldataload: 0x35,
  calldatasize: 0x36,
  calldatacopy: 0x37,
  returndatasize: 0x3d,
  returndatacopy: 0x3e,
  pop: 0x50,
  mload: 0x51,
  mstore: 0x52,
  sload: 0x54,
  sstore: 0x55,
  jump: 0x56,
  jumpi: 0x57,
  gas: 0x5a,
  jumpdest: 0x5b,
  dup1: 0x80,
  call: 0xf1,
  return: 0xf3,
  staticcall: 0xfa,
  revert: 0xfd
}

const byte = (value: number): string => value.toString(16).padStart(2, "0")

const push = (digits: string): string => {
  const even = digits.length % 2 === 0 ? digits : `0${digits}`
  return byte(0x5f + even.length / 2) + even
}

/**
 * Bytes of a program: names of opcodes, numbers in hex, which are pushed, `name:` for a target of jumps, and `@name`, which pushes its
 * position as two bytes.
 */
const assemble = (program: string): string => {
  const tokens = program.split(/\s+/).filter((token) => token !== "")
  const targets = new Map<string, number>()
  let code = ""
  const references: Array<readonly [number, string]> = []
  for (const token of tokens) {
    if (token.endsWith(":")) {
      targets.set(token.slice(0, -1), code.length / 2)
      code += byte(opcodes["jumpdest"] ?? 0)
    } else if (token.startsWith("@")) {
      references.push([code.length + 2, token.slice(1)])
      code += `${byte(0x61)}0000`
    } else if (token.startsWith("0x")) {
      code += push(token.slice(2))
    } else {
      const opcode = opcodes[token]
      if (opcode === undefined) throw new Error(`no opcode has the name ${token}`)
      code += byte(opcode)
    }
  }
  for (const [at, name] of references) {
    const target = targets.get(name)
    if (target === undefined) throw new Error(`no target has the name ${name}`)
    code = code.slice(0, at) + target.toString(16).padStart(4, "0") + code.slice(at + 4)
  }
  return `0x${code}`
}

/** Jumps to `name` if the call selects the function. */
const on = (selector: string, name: string): string => `dup1 ${selector} eq @${name} jumpi`

/** The first four bytes of the hash of `isValidSignature(bytes32,bytes)`, which is also what the function answers for a valid one (ERC-1271). */
const signatureSelector = "0x1626ba7e"

/** The first four bytes of the hash of `initialize(address)`. */
const initializeSelector = "0xc4d66de8"

const refuse = "0x00 0x00 revert"

/** Answers whether the mode is that of one batch. */
const supports = `
  supports:
    0x04 calldataload 0x${batchMode} eq 0x00 mstore
    0x20 0x00 return`

/** Memory: 0x00 the offsets of the calls, 0x20 their number, 0x40 the next one, 0x60 its tuple; its data is copied behind. */
const batch = `
    0x04 calldataload 0x${batchMode} eq iszero @refused jumpi
    0x24 calldataload 0x24 add
    dup1 calldataload add
    dup1 calldataload 0x20 mstore
    0x20 add 0x00 mstore
    0x00 0x40 mstore
  next:
    0x20 mload 0x40 mload eq @done jumpi
    0x40 mload 0x20 mul 0x00 mload add calldataload 0x00 mload add 0x60 mstore
    0x60 mload 0x40 add calldataload 0x60 mload add
    dup1 calldataload dup1
    0x80 mstore
    pop
    0x80 mload
    0xa0 mstore
    0x20 add
    0xc0 mstore
    0xa0 mload 0xc0 mload 0x0100 calldatacopy
    0x00 0x00
    0xa0 mload 0x0100
    0x60 mload 0x20 add calldataload
    0x60 mload calldataload
    dup1 @named jumpi
    pop address
  named:
    gas call
    @made jumpi
    returndatasize 0x00 0x00 returndatacopy
    returndatasize 0x00 revert
  made:
    0x40 mload 0x01 add 0x40 mstore
    @next jump
  done:
    stop`

/** Whether the key of the account has signed: r, s and v of 65 bytes. */
const signatures = `
  signature:
    0x24 calldataload 0x24 add 0xa0 mstore
    0x04 calldataload 0x00 mstore
    0xa0 mload 0x40 add calldataload 0xf8 shr 0x20 mstore
    0xa0 mload calldataload 0x40 mstore
    0xa0 mload 0x20 add calldataload 0x60 mstore
    0x20 0x80 0x80 0x00 0x01 gas staticcall pop
    0x80 mload address eq @valid jumpi
    0xffffffff 0xe0 shl 0x00 mstore 0x20 0x00 return
  valid:
    ${signatureSelector} 0xe0 shl 0x00 mstore 0x20 0x00 return`

/** How an executor differs from the usual one. */
interface Traits {
  /** Whether plain transfers pass. */
  readonly receives: boolean
  /** Whether others than the account may make calls. */
  readonly isOpen: boolean
  /** Whether it accepts signatures of the account's own key. */
  readonly checksSignatures: boolean
  /** Whether anybody may set an owner. */
  readonly initializes: boolean
}

const executorOf = ({ receives, isOpen, checksSignatures, initializes }: Traits): string =>
  assemble(`
    calldatasize iszero @received jumpi
    0x00 calldataload 0xe0 shr
    ${on(executeSelector, "execute")}
    ${on(supportsModeSelector, "supports")}
    ${checksSignatures ? on(signatureSelector, "signature") : ""}
    ${initializes ? on(initializeSelector, "initialize") : ""}
  refused:
    ${refuse}
  received:
    ${receives ? "stop" : refuse}
    ${supports}
  execute:
    ${isOpen ? "" : "caller address eq iszero @refused jumpi"}
    ${batch}
    ${checksSignatures ? signatures : ""}
    ${initializes ? "initialize: 0x04 calldataload 0x00 sstore stop" : ""}`)

const usual: Traits = { receives: true, isOpen: false, checksSignatures: true, initializes: false }

/** Makes the calls of the account alone, takes transfers, and accepts signatures of the account's key. */
export const executorCode = executorOf(usual)

/** The same, each without one of these properties. */
export const faultyExecutors = {
  withoutReceive: executorOf({ ...usual, receives: false }),
  open: executorOf({ ...usual, isOpen: true }),
  withoutSignatures: executorOf({ ...usual, checksSignatures: false }),
  uninitialized: executorOf({ ...usual, initializes: true })
} as const

/** Creates a contract with this code: it copies the code behind itself to memory, and returns it. */
export const creationOf = (code: string): string => {
  const length = (code.length / 2 - 1).toString(16).padStart(4, "0")
  return `0x61${length}80600c6000396000f3${code.slice(2)}`
}
