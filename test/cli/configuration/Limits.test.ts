// Files that are too large, and limits of API keys in the wrong form, are refused with their places.
import { assert, describe, it } from "@effect/vitest"
import { head, problemsOf } from "./files.ts"

describe("limits", () => {
  it("a file with more than 200,000 members is refused at the list that has them", () => {
    const items = Array.from({ length: 200_001 }, () => "1").join(",")
    const [problem] = problemsOf({ "a.yaml": `${head}include: [${items}]\n` })
    assert.match(problem ?? "", /^has more than 200000 members \(a\.yaml:3:10\)$/)
  })

  it("limits in the unit or the address form of another network are named with those of theirs", () => {
    const problems = problemsOf({
      "a.yaml": `${head}api_keys:
  shop:
    name: Shop
    scopes: ["transactions:*"]
    transaction_limits:
      max_value: "1.5"
      receivers: [EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v]
      solana: {max_value: 1 SOL, receivers: ["0x70997970C51812dc3A010C7d01b50e0d17dc79C8"]}
`
    })
    assert.lengthOf(problems, 4)
    const limits = "api_keys.shop.transaction_limits"
    for (const [path, form] of [
      ["max_value", /wei|integer/i],
      ["receivers.0", /0x/],
      ["solana.max_value", /lamports|integer/i],
      ["solana.receivers.0", /base58|solana/i]
    ] as const) {
      const problem =
        problems.find((text) => text.startsWith(`${limits}.${path}: `)) ?? assert.fail(problems.join("\n"))
      assert.match(problem, form)
    }
  })

  it("a file of a secret with more than 64 kB is refused", () => {
    const files = {
      "a.yaml": `${head}notifications:\n  ops: {url: "https://a.example", signing_key: {file: big}}\n`,
      big: "x".repeat(64_001)
    }
    assert.match(problemsOf(files).join(), /^notifications\.ops\.signing_key: the file is larger than 64000 bytes/)
  })

  it("a folder in the place of a file of a secret is refused", () => {
    const files = {
      "a.yaml": `${head}notifications:\n  ops: {url: "https://a.example", signing_key: {file: keys}}\n`,
      "keys/ops": "x"
    }
    assert.deepStrictEqual(problemsOf(files), [
      "notifications.ops.signing_key: the file is no regular file (a.yaml:4:55)"
    ])
  })

  it("a file without the secret that it should have is named, and not quoted", () => {
    const files = {
      "a.yaml": `${head}notifications:
  ops: {url: "https://a.example", signing_key: {file: note.txt}}
signers:
  hot: {type: plain, config: {key: {file: note.txt}}}
`,
      "note.txt": "hunter2"
    }
    const problems = problemsOf(files)
    assert.lengthOf(problems, 2)
    assert.match(problems[0] ?? "", /^notifications\.ops\.signing_key: .*\(a\.yaml:4:\d+\)$/)
    assert.match(problems[1] ?? "", /^signers\.hot\.config\.key: .*\(a\.yaml:6:\d+\)$/)
    assert.notInclude(problems.join(), "hunter2")
  })

  it("a file with more than 8 MiB is refused", () => {
    const [problem] = problemsOf({ "a.yaml": `${head}# ${"x".repeat(9 * 1024 * 1024)}` })
    assert.match(problem ?? "", /larger than/)
  })

  it("an include that does not exist is refused, and nothing of the others is loaded", () => {
    const problems = problemsOf({ "a.yaml": `${head}include: [missing.yaml]\nrelayers: {}\n` })
    assert.deepStrictEqual(problems, ["include: the included file does not exist (a.yaml:3:11)"])
  })

  it("an address of stellar has a checksum, so that a letter in the other case is refused", () => {
    const address = "GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ"
    const shop = (receiver: string) => `${head}api_keys:
  shop: {name: Shop, scopes: ["transactions:*"], transaction_limits: {stellar: {receivers: [${receiver}]}}}
`
    assert.deepStrictEqual(problemsOf({ "a.yaml": shop(address) }), [])
    const problems = problemsOf({ "a.yaml": shop(address.replace("Q", "q")) })
    assert.match(problems.join(), /^api_keys\.shop\.transaction_limits\.stellar\.receivers\.0: /)
  })
})
