// Rules about webhooks: their signatures, and the order in which the service sends them.
import { inFile } from "../Mutant.ts"
import type { Mutant } from "../Mutant.ts"

const claims = "docs/security/tests.md"
const database = "docs/security/database.md"

export const webhooks: ReadonlyArray<Mutant> = [
  ...inFile("src/client/SignedMessage.ts", [
    {
      name: "old-webhooks-are-refused",
      rule: "A copy of a webhook that is sent later is refused.",
      source: `${claims}: webhooks cannot be forged, and not replayed`,
      before: "Math.abs(nowSeconds - Number(timestamp)) > toleranceSeconds",
      after: "Math.abs(nowSeconds - Number(timestamp)) > 1e12 + toleranceSeconds",
      test: "test/client/Webhook.test.ts"
    },
    {
      name: "signature-covers-id-and-time",
      rule: "The signature covers the id and the time of a webhook.",
      source: `${claims}: webhooks cannot be forged, and not replayed`,
      before: "join(utf8.encode(`${id}.${timestamp}.`), bytes)",
      after: 'join(utf8.encode(""), bytes)',
      test: "test/client/Webhook.test.ts"
    }
  ]),
  ...inFile("src/client/Webhook.ts", [
    {
      name: "webhook-is-signed",
      rule: "A webhook without a signature of the key is refused.",
      source: `${claims}: webhooks cannot be forged, and not replayed`,
      before: `if (!(yield* Effect.promise(() => isSigned(key, signed)))) return yield* fail("signature")`,
      after: "",
      test: "test/client/Webhook.test.ts"
    }
  ]),
  ...inFile("src/client/node/verifyWebhook.ts", [
    {
      name: "webhook-is-signed-in-node",
      rule: "A webhook without a signature of the key is refused, also in plain Node.",
      source: `${claims}: webhooks cannot be forged, and not replayed`,
      before: `if (!isSigned(secret, signed)) throw new WebhookInvalid("signature")`,
      after: "",
      test: "test/client/node/verifyWebhook.test.ts"
    }
  ]),
  ...inFile("src/server/notifications/Notifications.ts", [
    {
      name: "signing-key-is-bound-to-its-url",
      rule: "A signing key signs no webhook for another URL.",
      source: `${database}: notifications.url`,
      before: "context: { url }\n",
      after: "context: { url: url.slice(0, 0) }\n",
      test: "test/databaseWriter.test.ts",
      only: "gets no webhook signed for another URL"
    }
  ]),
  ...inFile("src/server/notifications/delivery/QueueRepo.ts", [
    {
      name: "webhooks-in-order",
      rule: "The deliveries of a relayer are sent in their order.",
      source: "docs/operate.md: webhooks arrive in order",
      before: "FROM heads CROSS JOIN LATERAL (SELECT * FROM deliveries WHERE seq = heads.seq OFFSET 0) d",
      after: "FROM deliveries d",
      test: "test/server/notifications/delivery/Lanes.test.ts"
    }
  ]),
  ...inFile("src/server/notifications/delivery/QueueRepo.ts", [
    {
      name: "claimed-delivery-is-leased",
      rule: "A delivery that is being sent is not claimed again before its lease ends.",
      source: "docs/operate.md: webhooks arrive in order",
      before: "next_attempt_at = clock_timestamp() + ${lease}::interval",
      after: "next_attempt_at = clock_timestamp() + 0 * ${lease}::interval",
      test: "test/server/notifications/delivery/Queue.test.ts",
      only: "claim every delivery once"
    },
    {
      name: "only-the-last-claim-settles",
      rule: "Only the last claim of a delivery records its result.",
      source: "docs/operate.md: webhooks arrive in order",
      before: "WHERE id = ${claimed.id} AND claim = ${claimed.claim} FOR UPDATE",
      after: "WHERE id = ${claimed.id} FOR UPDATE",
      test: "test/server/notifications/delivery/Queue.test.ts"
    }
  ]),
  ...inFile("src/outbound/Outbound.ts", [
    {
      name: "http-to-allowed-hosts-only",
      rule: "A receiver is called by http only if the operator names its host.",
      source: "docs/security/tests.md: webhooks",
      before: "return isWrongScheme ? ",
      after: "return isWrongScheme && false ? ",
      test: "test/outbound/Guard.test.ts"
    }
  ]),
  ...inFile("src/server/notifications/delivery/WebhookClient.ts", [
    {
      name: "http-is-judged-at-each-delivery",
      rule: "A host that the operator no longer names gets no webhook by http.",
      source: "docs/security/tests.md: webhooks",
      before: "if (message !== undefined) return",
      after: 'if (message === undefined && body === "") return',
      test: "test/server/notifications/delivery/Delivery.test.ts",
      only: "is not sent by http to a host that is not allowed any more"
    }
  ])
]
