# What flake.nix and deploy/nixos.nix use of nixpkgs, for tests without the real one: the same functions of `lib`, and packages that are derivations
# which nobody builds. An attribute that is missing here is an error of the evaluation.
{
  outputs =
    { self }:
    let
      systems = [
        "x86_64-linux"
        "aarch64-linux"
        "x86_64-darwin"
        "aarch64-darwin"
      ];
      lib = import ./lib.nix systems;
    in
    {
      inherit lib;
      legacyPackages = lib.genAttrs systems (import ./packages.nix lib);
    };
}
