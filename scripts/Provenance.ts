// What was built from what, as a statement of in-toto with the predicate of SLSA 1. npm and the registry of images sign their own ones, if the
// workflow `release` builds; this one is for those who build themselves, and is not signed.
import { createHash } from "node:crypto"

export interface Artefact {
  readonly name: string
  readonly bytes: Uint8Array
}

interface Build {
  readonly version: string
  /** The commit, in 40 hexadecimal digits. */
  readonly commit: string
  /** Files that decide what is installed and on what it runs, by path. */
  readonly inputs: ReadonlyArray<Artefact>
  /** Images that the Dockerfile begins with, as `name@sha256:…`. */
  readonly images: ReadonlyArray<string>
  /** Where it was built: the address of a workflow, or `local`. */
  readonly builder: string
  /** ISO 8601. */
  readonly startedOn: string
  readonly finishedOn: string
}

export const sha256 = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex")

export const statementOf = (artefacts: ReadonlyArray<Artefact>, build: Build) => ({
  _type: "https://in-toto.io/Statement/v1",
  subject: artefacts.map(({ bytes, name }) => ({ name, digest: { sha256: sha256(bytes) } })),
  predicateType: "https://slsa.dev/provenance/v1",
  predicate: {
    buildDefinition: {
      buildType: "npm run release",
      externalParameters: { version: build.version },
      resolvedDependencies: [
        { name: "the repository", digest: { gitCommit: build.commit } },
        ...build.inputs.map(({ bytes, name }) => ({ name, digest: { sha256: sha256(bytes) } })),
        ...build.images.map((image) => {
          const [name = "", digest = ""] = image.split("@sha256:")
          return { name, digest: { sha256: digest } }
        })
      ]
    },
    runDetails: {
      builder: { id: build.builder },
      metadata: { startedOn: build.startedOn, finishedOn: build.finishedOn }
    }
  }
})

/** Lines of `sha256sum --check`. */
export const sums = (artefacts: ReadonlyArray<Artefact>): string =>
  artefacts.map(({ bytes, name }) => `${sha256(bytes)}  ${name}\n`).join("")
