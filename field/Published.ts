// Executors of many calls (ERC-7821) that others have published: their packages are downloaded and compiled when a node is tried, and nothing of
// them is kept in this repository.
import { Effect, Schema } from "effect"
import { execFileSync } from "node:child_process"
import { createRequire } from "node:module"
import * as path from "node:path"
import { encodeAbiParameters } from "viem"
import * as Packages from "./Packages.ts"

const packages = [
  "solc@0.8.37",
  "solady@0.1.26",
  "@openzeppelin/contracts@5.7.0",
  "@metamask/delegation-abis@2.0.0",
  "@account-abstraction/contracts@0.8.0"
] as const

/** solady and OpenZeppelin publish abstract contracts: each of these is theirs without a change, but the one that is open to strangers. */
const source = `// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;
import {ERC7821} from "solady/src/accounts/ERC7821.sol";
import {ERC7821 as Standard} from "@openzeppelin/contracts/account/extensions/draft-ERC7821.sol";
contract Solady is ERC7821 {}
contract WithoutReceive is Standard {}
contract Open is Standard {
  receive() external payable {}
  function _erc7821AuthorizedExecutor(address, bytes32, bytes calldata) internal pure override returns (bool) { return true; }
}
`

const file = "Executors.sol"

/** Megabytes that the compiler may print. */
const outputSize = 64 * 1024 * 1024

const Bytecode = Schema.Struct({ evm: Schema.Struct({ bytecode: Schema.Struct({ object: Schema.String }) }) })
const Compiled = Schema.fromJsonString(
  Schema.Struct({
    contracts: Schema.Struct({
      [file]: Schema.Struct({ Solady: Bytecode, WithoutReceive: Bytecode, Open: Bytecode })
    })
  })
)

/** The compiler of npm, as a process of its own: it blocks for about 15 seconds. */
const compile = Effect.fnUntraced(function* (solc: string, folder: string) {
  const input = {
    language: "Solidity",
    sources: { [file]: { content: source } },
    settings: {
      evmVersion: "cancun",
      optimizer: { enabled: true },
      outputSelection: { [file]: { "*": ["evm.bytecode.object"] } }
    }
  }
  const modules = path.join(folder, "node_modules")
  const args = [solc, "--standard-json", "--base-path", folder, "--include-path", modules]
  const printed = execFileSync(process.execPath, args, {
    cwd: folder,
    input: JSON.stringify(input),
    encoding: "utf8",
    maxBuffer: outputSize,
    stdio: ["pipe", "pipe", "ignore"]
  })
  // Before the answer, the compiler prints a line about solvers.
  const { contracts } = yield* Schema.decodeEffect(Compiled)(printed.slice(printed.indexOf("{")))
  const codeOf = (name: keyof (typeof contracts)[typeof file]) => `0x${contracts[file][name].evm.bytecode.object}`
  return { solady: codeOf("Solady"), withoutReceive: codeOf("WithoutReceive"), open: codeOf("Open") }
}, Effect.orDie)

/** It asks neither in the cases, because nobody uses a delegation of its own or the entry point. */
const unused = "0x0000000000000000000000000000000000000001"

const Metamask = Schema.Struct({ EIP7702StatelessDeleGator: Schema.String })
const Artifact = Schema.Struct({ bytecode: Schema.String })

/** Creations of contracts. */
export const creations = Effect.gen(function* () {
  const solc = yield* Packages.npm(packages, "solc/solc.js")
  const folder = path.resolve(path.dirname(solc), "../..")
  const load = createRequire(path.join(folder, "package.json"))
  const metamask = yield* Schema.decodeUnknownEffect(Metamask)(load("@metamask/delegation-abis/bytecode"))
  const infinitism = yield* Schema.decodeUnknownEffect(Artifact)(
    load("@account-abstraction/contracts/artifacts/Simple7702Account.json")
  )
  const parameters = encodeAbiParameters([{ type: "address" }, { type: "address" }], [unused, unused])
  return {
    ...(yield* compile(solc, folder)),
    /** EIP7702StatelessDeleGator of MetaMask: with signatures of the account's key. */
    metamask: metamask.EIP7702StatelessDeleGator + parameters.slice(2),
    /** Simple7702Account of eth-infinitism, which has no mode of ERC-7821. */
    simple7702: infinitism.bytecode
  }
}).pipe(Effect.orDie)

/** A minimal proxy (EIP-1167). */
export const proxyOf = (address: string): string => {
  const code = `363d3d373d3d3d363d73${address.slice(2)}5af43d82803e903d91602b57fd5bf3`
  return `0x3d602d80600a3d3981f3${code}`
}
