// SPDX-License-Identifier: MIT
// Deploys a counter and increments it twice: three transactions in a row.
pragma solidity ^0.8.30;

import {Counter} from "../src/Counter.sol";

/// The cheat codes that the script needs, at the address where forge has them.
interface Vm {
    function startBroadcast() external;
    function stopBroadcast() external;
}

contract CounterScript {
    bool public constant IS_SCRIPT = true;
    Vm private constant VM = Vm(address(uint160(uint256(keccak256("hevm cheat code")))));

    function run() external {
        VM.startBroadcast();
        Counter counter = new Counter();
        counter.increment();
        counter.increment();
        VM.stopBroadcast();
    }
}
