# Every output of flake.nix, with the stand-in for nixpkgs, and the configuration that the module of NixOS makes of some settings. It is called as
# `nix-instantiate --eval --strict --json`: an output that cannot be evaluated is an error.
{
  settings ? { },
}:
let
  nixpkgs = (import ./flake.nix).outputs { self = { }; };
  flake = import ../../../flake.nix;
  self = flake.outputs { inherit self nixpkgs; } // {
    outPath = "/source";
  };
  inherit (nixpkgs) lib;
  system = "x86_64-linux";
  pathsOf = lib.mapAttrs (_: lib.mapAttrs (_: output: output.drvPath));

  module = self.nixosModules.default {
    inherit lib;
    pkgs = nixpkgs.legacyPackages.${system};
    config.services.effect-relayer = chosen;
  };
  options = module.options.services.effect-relayer;
  unknown = lib.filter (name: !(options ? ${name})) (lib.attrNames settings);
  chosen = lib.mapAttrs (
    name: option:
    let
      value = settings.${name} or option.default;
    in
    if option.type.check value then value else throw "services.effect-relayer.${name} is no ${option.type.name}"
  ) options;
  config = if module.config.condition then module.config.content else { };
  failed = lib.filter ({ assertion, ... }: !assertion) config.assertions or [ ];
in
{
  outputs = {
    inherit (builtins.mapAttrs (_: pathsOf) { inherit (self) packages devShells checks; }) packages devShells checks;
    formatter = lib.mapAttrs (_: output: output.drvPath) self.formatter;
    modules = lib.attrNames self.nixosModules;
    names = lib.attrNames (removeAttrs self [ "outPath" ]);
  };
  machine =
    if unknown != [ ] then
      throw "services.effect-relayer.${builtins.head unknown} does not exist"
    else if failed != [ ] then
      throw (builtins.head failed).message
    else
      removeAttrs config [ "assertions" ];
}
