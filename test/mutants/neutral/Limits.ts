// Rules of policies and of the limits of API keys.
import { inFile } from "../Mutant.ts"
import type { Mutant } from "../Mutant.ts"

const source = "src/networks/core"
const tests = "test/networks/core"
const failures = "test/transactions-failures.md"
const claims = "docs/security/tests.md"
const selectors = "docs/policies.md: selectors"

export const limits: ReadonlyArray<Mutant> = [
  ...inFile("src/domain/request/ExactParse.ts", [
    {
      name: "exponent-leaves-no-fraction",
      rule: "An amount with an exponent is taken only if it is exactly a whole number.",
      source: "docs/api.md: whole numbers of the smallest unit",
      before: "const power = Number(exponent) - fraction.length + zeros",
      after: "const power = Math.max(0, Number(exponent) - fraction.length + zeros)",
      test: "test/domain/request/ExactJson.test.ts"
    }
  ]),
  ...inFile(`${source}/TransactionLimits.ts`, [
    {
      name: "value-is-limited",
      rule: "An API key sends at most its max_value.",
      source: `${claims}: a send is limited by the policy, and by the limits of its key`,
      before: "if (max_value !== undefined && sent.value > max_value) {",
      after: "if (max_value !== undefined && sent.value > max_value * 1_000_000n) {",
      test: `${tests}/TransactionLimits.test.ts`
    },
    {
      name: "receivers-are-listed",
      rule: "An API key with receivers sends to no other one.",
      source: `${claims}: a send is limited by the policy, and by the limits of its key`,
      before: "receivers !== undefined && !includes(type, receivers, address)",
      after: 'receivers !== undefined && address === ""',
      test: `${tests}/TransactionLimits.test.ts`
    },
    {
      name: "calls-are-listed",
      rule: "An API key with selectors makes no other call.",
      source: selectors,
      before: "return selectors !== undefined && (sent.call === undefined || !isCallListed(selectors, sent.call))",
      after: "return selectors !== undefined && sent.call !== undefined && selectors.length === 0",
      test: `${tests}/TransactionLimits.test.ts`
    },
    {
      name: "entry-without-selector-allows-no-data",
      rule: "An entry without a selector allows a transfer without data, and nothing else.",
      source: selectors,
      before: "data.slice(0, selectorLength)",
      after: "data.slice(0, 2)",
      test: `${tests}/TransactionLimits.test.ts`
    },
    {
      name: "selectors-belong-to-their-contract",
      rule: "A selector is listed for one contract.",
      source: selectors,
      before: "selectors.some((one) => one.toLowerCase() === wanted)",
      after: 'selectors.some((one) => one.toLowerCase().split(":")[1] === wanted.split(":")[1])',
      test: `${tests}/TransactionLimits.test.ts`
    },
    {
      name: "derived-key-calls-no-more",
      rule: "A key that a key with selectors creates calls nothing else.",
      source: selectors,
      before: "limits.selectors?.every((one) => selectors.includes(one.toLowerCase())) ?? false",
      after: "limits.selectors?.every((one) => selectors.includes(one.toLowerCase())) ?? true",
      test: `${tests}/TransactionLimits.test.ts`
    },
    {
      name: "limits-of-another-type-allow-nothing",
      rule: "An API key with limits sends only on networks of the types that it has limits for.",
      source: `${claims}: a key with limits sends, replaces and signs only on networks of the types that it has limits for`,
      before: "return found === undefined\n    ? Result.fail(",
      after: 'return found === undefined && type === "evm"\n    ? Result.fail(',
      test: `${tests}/TransactionLimits.test.ts`
    },
    {
      name: "derived-key-has-no-other-type",
      rule: "A key that a limited key creates has limits of no type that its creator lacks.",
      source: `${claims}: a key with limits sends, replaces and signs only on networks of the types that it has limits for`,
      before: "own === undefined || (most !== undefined && isWithin(type, own, most))",
      after: "own === undefined || most === undefined || isWithin(type, own, most)",
      test: `${tests}/TransactionLimits.test.ts`
    },
    {
      name: "derived-key-has-no-higher-limit",
      rule: "A key that a limited key creates has at most the same limits.",
      source: `${claims}: no key can create a key with more rights than its own`,
      before: "parent === undefined || (limit !== undefined && limit <= parent)",
      after: "parent === undefined || limit !== undefined",
      test: `${tests}/TransactionLimits.test.ts`
    },
    {
      name: "derived-key-has-no-other-receivers",
      rule: "A key that a limited key creates has no receiver that its creator lacks.",
      source: `${claims}: no key can create a key with more rights than its own`,
      before: "limits.receivers?.every((receiver) => includes(type, receivers, receiver)) ?? false",
      after: 'limits.receivers?.every((receiver) => receiver !== "") ?? false',
      test: `${tests}/TransactionLimits.test.ts`
    }
  ]),
  ...inFile("src/networks/evm/rules/Admission.ts", [
    {
      name: "whitelist-of-the-policy",
      rule: "A relayer with a whitelist sends to no other receiver.",
      source: `${claims}: a send is limited by the policy, and by the limits of its key`,
      before: "ReadonlyArray<TermsRule> = [receiver, called, priceCap]",
      after: "ReadonlyArray<TermsRule> = [called, priceCap]",
      test: "test/networks/evm/rules/SendEvmTransaction.test.ts"
    },
    {
      name: "selectors-of-the-policy",
      rule: "A relayer with a list of selectors makes no other call.",
      source: selectors,
      before: "ReadonlyArray<TermsRule> = [receiver, called, priceCap]",
      after: "ReadonlyArray<TermsRule> = [receiver, priceCap]",
      test: "test/networks/evm/rules/SendEvmTransaction.test.ts"
    },
    {
      name: "given-price-within-the-cap",
      rule: "A given price is at most the cap of the relayer.",
      source: `${failures} 13`,
      before: "ReadonlyArray<TermsRule> = [receiver, called, priceCap]",
      after: "ReadonlyArray<TermsRule> = [receiver, called]",
      test: "test/networks/evm/rules/SendEvmTransaction.test.ts"
    },
    {
      name: "receiver-has-its-checksum",
      rule: "A receiver with a wrong checksum is refused.",
      source: `${claims}: a send is limited by the policy, and by the limits of its key`,
      before: "= [\n  checksum,\n",
      after: "= [\n",
      test: "test/networks/evm/rules/SendEvmTransaction.test.ts"
    }
  ]),
  ...inFile("src/server/health/HealthRepo.ts", [
    {
      name: "unserved-checks-are-left",
      rule: "A program checks no relayers of network types that it does not serve.",
      source: "docs/embed.md: serve some network types only",
      before: "unserved.length === 0",
      after: "unserved.length < 9",
      test: "test/networks/alone/Alone.test.ts",
      only: "claims no check of the other ones"
    }
  ]),
  ...inFile("src/server/relayers/RelayerChanges.ts", [
    {
      name: "unserved-relayers-are-not-made",
      rule: "A program creates no relayer of a network type that it does not serve.",
      source: "docs/embed.md: serve some network types only",
      before: "if (!chains.serves(request.network_type)) return yield* notServedField(request.network_type)",
      after: "",
      test: "test/networks/alone/Alone.test.ts",
      only: "creates no relayer and no network of another type"
    }
  ]),
  ...inFile("src/server/transactions/Exchanges.ts", [
    {
      name: "messages-of-the-own-network-type",
      rule: "A message is signed only as the network type of its relayer signs messages.",
      source: "docs/embed.md: serve some network types only",
      before: "const network = byType.get(sender.relayer.network_type)",
      after: "const [network] = byType.values()",
      test: "test/networks/alone/Alone.test.ts",
      only: "refuses the endpoints that only evm has"
    }
  ])
]
