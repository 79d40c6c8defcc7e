-- Sends the requests of a plan in turn, and prints the counts of wrk as JSON. A plan is a Lua file that returns `requests`,
-- each a list of texts. 1 stands for a random id from the file `ids`, 2 for the next number after `from`.
local plan
local ids = {}
local turn, number = 0, 0

function init(args)
  plan = dofile(args[1])
  number = plan.from
  math.randomseed(42)
  if plan.ids then
    for line in io.lines(plan.ids) do ids[#ids + 1] = line end
  end
end

function request()
  turn = turn % #plan.requests + 1
  local parts = plan.requests[turn]
  if #parts == 1 then return parts[1] end
  local filled = {}
  for i = 1, #parts do
    local part = parts[i]
    if part == 1 then
      part = ids[math.random(#ids)]
    elseif part == 2 then
      number = number + 1
      part = string.format("%09d", number)
    end
    filled[i] = part
  end
  return table.concat(filled)
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '\nRESULT {"requests":%d,"seconds":%f,"bytes":%d,"p50":%f,"p99":%f,"refused":%d,"broken":%d}\n',
    summary.requests, summary.duration / 1e6, summary.bytes,
    latency:percentile(50) / 1e3, latency:percentile(99) / 1e3,
    errors.status, errors.connect + errors.read + errors.write + errors.timeout
  ))
end
