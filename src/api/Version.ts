// The version of the package. `npm version` writes this file from package.json, and a test compares the two.
export const version = "0.1.0"
