# Functions of `lib` of nixpkgs, by their documentation.
flakeSystems:
let
  inherit (builtins)
    all
    attrNames
    concatStringsSep
    elemAt
    filter
    fromJSON
    isAttrs
    isBool
    isInt
    isString
    length
    listToAttrs
    readFile
    replaceStrings
    stringLength
    substring
    ;
in
rec {
  inherit
    attrNames
    concatStringsSep
    filter
    replaceStrings
    ;
  inherit (builtins) mapAttrs removeAttrs;
  genAttrs = names: f: listToAttrs (map (name: { inherit name; value = f name; }) names);
  filterAttrs =
    keep: set:
    listToAttrs (map (name: { inherit name; value = set.${name}; }) (filter (name: keep name set.${name}) (attrNames set)));
  mapAttrsToList = f: set: map (name: f name set.${name}) (attrNames set);
  hasPrefix = prefix: text: substring 0 (stringLength prefix) text == prefix;
  importJSON = file: fromJSON (readFile file);
  last = list: elemAt list (length list - 1);
  optional = condition: value: if condition then [ value ] else [ ];
  splitString = separator: text: filter isString (builtins.split (replaceStrings [ "." ] [ "\\." ] separator) text);
  systems.flakeExposed = flakeSystems;
  fetchers.proxyImpureEnvVars = [ "https_proxy" ];
  licenses.asl20.spdxId = "Apache-2.0";

  # The module system: declarations keep their type, and a condition its content.
  mkOption = option: option // { _type = "option"; };
  mkEnableOption = description: mkOption { type = types.bool; default = false; inherit description; };
  mkIf = condition: content: { _type = "if"; inherit condition content; };
  types = rec {
    bool = { name = "bool"; check = isBool; };
    str = { name = "str"; check = isString; };
    path = { name = "path"; check = value: builtins.isPath value || (isString value && hasPrefix "/" value); };
    port = { name = "port"; check = value: isInt value && value >= 0 && value <= 65535; };
    package = { name = "package"; check = value: isAttrs value && value.type or "" == "derivation"; };
    attrsOf = inner: {
      name = "attrsOf ${inner.name}";
      check = value: isAttrs value && all (name: inner.check value.${name}) (attrNames value);
    };
  };
}
