// Rules about providers and URLs: which chain they are on, and which addresses are reached.
import { inFile } from "../Mutant.ts"
import type { Mutant } from "../Mutant.ts"

const claims = "docs/security/tests.md"
const failures = "test/transactions-failures.md"

export const providers: ReadonlyArray<Mutant> = [
  ...inFile("src/networks/evm/chain/EvmNodes.ts", [
    {
      name: "provider-has-the-chain-id",
      rule: "A provider with another chain id gets nothing and is not believed.",
      source: `${failures} 37`,
      before: "if (id !== expected) return yield* otherChainFailure(id, expected).of(chainId.method)",
      after: "",
      test: "test/networks/evm/chain/EvmNodes.test.ts"
    },
    {
      name: "provider-has-the-first-block",
      rule: "A provider with another block 0 gets nothing and is not believed.",
      source: `${failures} 37`,
      before: "if (block !== null && block.hash !== genesis) {",
      after: `if (block !== null && block.hash === "") {`,
      test: "test/networks/evm/chain/EvmNodes.test.ts"
    }
  ]),
  ...inFile("src/networks/evm/chain/EvmBytes.ts", [
    {
      name: "transaction-has-its-hash",
      rule: "A transaction whose hash does not belong to its fields has no sender.",
      source: `${failures} 6`,
      before: "if (keccak256(serializeTransaction(transaction, signature)) !== hash) return undefined",
      after: "",
      test: "test/networks/evm/chain/EvmBytes.test.ts"
    }
  ]),
  ...inFile("src/networks/evm/chain/EvmMarkets.ts", [
    {
      name: "lower-fees-of-two-providers",
      rule: "The lower fees of two providers count.",
      source: `${claims}: a limit of fees holds for replacements`,
      before: "const lower = second === undefined ? first : lowerOf(first, second)",
      after: "const lower = second === undefined ? first : first",
      test: "test/server/lanes/FeeLies.test.ts"
    }
  ]),
  ...inFile("src/server/chains/Breakers.ts", [
    {
      name: "answered-errors-are-no-failures",
      rule: "An error about one transaction is no failure of the provider.",
      source: `${failures} 28`,
      before: "Exit.isSuccess(exit) || Option.exists(",
      after: "Exit.isSuccess(exit) && Option.exists(",
      test: "test/server/chains/Breakers.test.ts"
    }
  ]),
  ...inFile("src/server/chains/RpcNode.ts", [
    {
      name: "unanswered-calls-of-a-batch-are-asked-again",
      rule: "A call that a batch leaves out is asked again in a smaller one.",
      source: "docs/providers.md",
      before: `        else if (judgement === "smaller") again.push(call)\n`,
      after: `        else if (judgement === "smaller") fail([call], new Unanswered({ failure }))\n`,
      test: "test/server/chains/RpcExchange.test.ts",
      only: "answers each of 1 to 24 calls in the end"
    },
    {
      name: "dead-url-gets-one-more-call",
      rule: "A URL that answers neither a batch nor a single call gets no further call.",
      source: "docs/providers.md",
      before: "else if (!isAlive || error.isTimeout === true) ended = error",
      after: "else if (error.isTimeout === true) ended = error",
      test: "test/server/chains/RpcExchange.test.ts",
      only: "gets one call if its batches were refused before"
    },
    {
      name: "rate-error-is-no-answer",
      rule: "An error of a rate limit is no answer to its call.",
      source: "docs/providers.md",
      before: `if (isRateLimit(dialect, answer)) return "later"`,
      after: "",
      test: "test/server/chains/RpcExchange.test.ts",
      only: "answers each of 1 to 24 calls in the end"
    }
  ]),
  ...inFile("src/server/chains/RpcFailure.ts", [
    {
      name: "revert-is-no-rate-error",
      rule: "What a contract says in a revert is an answer, also if it speaks of a limit.",
      source: "docs/providers.md",
      before: "limitWords.test(message) && !otherWords.test(message)",
      after: "limitWords.test(message)",
      test: "test/server/chains/RpcExchange.test.ts",
      only: "is known by its code or its words"
    }
  ]),
  ...inFile("src/server/chains/RpcBatch.ts", [
    {
      name: "refused-size-is-remembered",
      rule: "A URL is asked no batch of a size that it has refused, until a larger one is tried after a while.",
      source: "docs/providers.md",
      before: "else calls = Math.max(1, Math.min(Math.floor(count / 2), answered === 0 ? count : answered))",
      after: "",
      test: "test/server/chains/RpcExchange.test.ts",
      only: "is remembered"
    }
  ]),
  ...inFile("src/networks/evm/chain/EvmEvidence.ts", [
    {
      name: "unanswered-is-no-missing-receipt",
      rule: "A provider that did not answer for a receipt is not said to have none.",
      source: "docs/providers.md",
      before: "  if (failure !== undefined && finalHeight >= claim.height) return silent(failure.text, known)\n",
      after: "",
      test: "test/networks/evm/chain/EvmOpinion.test.ts"
    }
  ]),
  ...inFile("src/networks/solana/rules/SolanaExchanges.ts", [
    {
      name: "bytes-go-past-no-lane-of-solana",
      rule: "sendTransaction is never passed on to a provider of solana.",
      source: `${claims}: rpc passes only allowed methods on`,
      before: `    "simulateTransaction"\n`,
      after: `    "simulateTransaction",\n    "sendTransaction"\n`,
      test: "test/networks/solana/requests/NodeCalls.test.ts"
    }
  ]),
  ...inFile("src/networks/stellar/rules/StellarRules.ts", [
    {
      name: "bytes-go-past-no-lane-of-stellar",
      rule: "sendTransaction is never passed on to a provider of stellar.",
      source: "docs/security/stellar.md: row 41",
      before: `never: new Set(["sendTransaction"])`,
      after: `never: new Set([""])`,
      test: "test/networks/stellar/requests/NodeCalls.test.ts",
      only: "never passes sendTransaction on"
    }
  ]),
  ...inFile("src/outbound/Outbound.ts", [
    {
      name: "one-internal-address-is-enough",
      rule: "A name that resolves to one internal address among others is refused.",
      source: `${claims}: URLs of users reach no internal address`,
      before: "addresses.map(kindOf).find((kind) => kind !== undefined)",
      after: "addresses.slice(0, 1).map(kindOf).find((kind) => kind !== undefined)",
      test: "test/outbound/Guard.test.ts"
    },
    {
      name: "internal-addresses-in-urls",
      rule: "A URL with an internal address is refused.",
      source: `${claims}: URLs of users reach no internal address`,
      before: "const kind = kindOf(parsed.hostname)\n",
      after: 'const kind = parsed.hostname === "" ? kindOf(parsed.hostname) : undefined\n',
      test: "test/outbound/Guard.test.ts"
    },
    {
      name: "only-http",
      rule: "Only http and https are spoken.",
      source: `${claims}: URLs of users reach no internal address`,
      before: "parsed === null || !/^https?:$/u.test(parsed.protocol)",
      after: "parsed === null",
      test: "test/outbound/Guard.test.ts"
    }
  ]),
  ...inFile("src/outbound/Outbound.ts", [
    {
      name: "embedded-addresses-are-read",
      rule: "An IPv4 address inside of a NAT64 address is checked.",
      source: `${claims}: URLs of users reach no internal address`,
      before: "NetAddress.isIpv6Address(address) && IpNetwork.contains(nat64, address)",
      after: "NetAddress.isIpv6Address(address) && !IpNetwork.contains(nat64, address) && false",
      test: "test/outbound/Address.test.ts"
    },
    {
      name: "private-addresses-are-special",
      rule: "Private addresses are not public.",
      source: `${claims}: URLs of users reach no internal address`,
      before: `private: "10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 fc00::/7 fec0::/10",`,
      after: `private: "10.0.0.0/8 192.168.0.0/16 fc00::/7 fec0::/10",`,
      test: "test/outbound/Address.test.ts"
    }
  ]),
  ...inFile("src/outbound/Outbound.ts", [
    {
      name: "connects-to-the-checked-address",
      rule: "The address that is connected to is the one that was checked.",
      source: `${claims}: URLs of users reach no internal address`,
      before: "if (message !== undefined) throw new OutboundRefused({ message })",
      after: "",
      test: "test/outbound/Outbound.test.ts"
    }
  ])
]
