-- Requests of one wrk run: a path and a body in which %d stands for a number from 1 to COUNT,
-- taken at random or, from FIRST on, in order. A COUNT of 0 sends the same request always. A body
-- of @FILE stands for the lines of that file, one after the other, and so does a VALUE of @FILE.
-- wrk ... -- PATH BODY COUNT FIRST METHOD CONTENT-TYPE [HEADER VALUE]...

local path, body, count, next_number

local function send_lines(file, header)
  local requests, place = {}, 0
  for line in io.lines(file) do
    if header then
      wrk.headers[header] = line
      table.insert(requests, wrk.format(nil, path, nil, body))
    else
      table.insert(requests, wrk.format(nil, path, nil, line))
    end
  end
  request = function()
    place = place % #requests + 1
    return requests[place]
  end
end

function init(args)
  path, body, count = args[1], args[2], tonumber(args[3])
  wrk.method = args[5]
  wrk.headers["Content-Type"] = args[6]
  local lines_of, file
  for place = 7, #args, 2 do
    if args[place + 1]:sub(1, 1) == "@" then
      lines_of, file = args[place], args[place + 1]:sub(2)
    else
      wrk.headers[args[place]] = args[place + 1]
    end
  end
  next_number = tonumber(args[4])
  math.randomseed(os.time())
  if body:sub(1, 1) == "@" then
    send_lines(body:sub(2))
  elseif lines_of then
    send_lines(file, lines_of)
  elseif count == 0 then
    local fixed = wrk.format(nil, path, nil, body)
    request = function() return fixed end
  end
end

function request()
  local number
  if next_number > 0 then
    number = tostring(next_number)
    next_number = next_number % count + 1
  else
    number = tostring(math.random(count))
  end
  return wrk.format(nil, (path:gsub("%%d", number)), nil, (body:gsub("%%d", number)))
end

function done(summary, latency)
  io.write(string.format(
    '\nRESULT {"requests": %d, "microseconds": %d, "refused": %d, "broken": %d, "p50": %d, "p99": %d}\n',
    summary.requests, summary.duration, summary.errors.status,
    summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.timeout,
    latency:percentile(50), latency:percentile(99)))
end
