/**
 * The operations of the store as Lua: Redis runs a script without interruption, so each is atomic and one
 * round trip. A script has exactly one key, as a cluster requires, and only the server's clock decides.
 *
 * A key is one hash: fingerprint, token, state, lease (its end), retention (of the claim), created, and one
 * field for each step, whose name is JSON and therefore begins with a quote. A completed key also has
 * completed, status, headers (JSON) and body.
 */

const NOW = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local key = KEYS[1]
local function digits(number) return string.format('%.0f', number) end
`

/** Returns 0 unless the claim with the token `ARGV[1]` holds the key. */
const HELD = `
local held = redis.call('HMGET', key, 'token', 'state')
if held[1] ~= ARGV[1] or held[2] ~= 'running' then return 0 end
`

/** `ARGV[2]`: retention, then state, status, headers and body. Steps are of no use after the response. */
const COMPLETE = `
local kept = redis.call('HMGET', key, 'fingerprint', 'token', 'created')
redis.call('DEL', key)
redis.call('HSET', key, 'fingerprint', kept[1], 'token', kept[2], 'created', kept[3], 'state', ARGV[3],
	'completed', digits(now), 'status', ARGV[4], 'headers', ARGV[5], 'body', ARGV[6])
redis.call('PEXPIREAT', key, digits(now + ARGV[2]))
return 1
`

/** A running key without steps has six fields. */
const RELEASE = `
if redis.call('HLEN', key) > 6 then redis.call('HSET', key, 'state', 'released')
else redis.call('DEL', key) end
return 1
`

/** Arguments: fingerprint, token, lease, retention, `abandoned`, `endedToken`. */
const CLAIM = `${NOW}
local found = redis.call('HMGET', key, 'fingerprint', 'token', 'state', 'lease')
local state = found[3]
if found[1] then
	-- Before anything else, so that a different request learns nothing about the first.
	if found[1] ~= ARGV[1] then return {'mismatch'} end
	if state == 'completed' then return {'completed', redis.call('HMGET', key, 'status', 'headers', 'body')} end
	if state == 'unstored' then return {'unstored'} end
	if state == 'running' and found[2] ~= ARGV[2] then
		local left = found[4] - now
		if left > 0 and found[2] ~= ARGV[6] then return {'running', {left, found[2]}} end
		if ARGV[5] == 'reject' then return {'abandoned'} end
	end
end
local lease = now + ARGV[3]
redis.call('HSET', key, 'token', ARGV[2], 'state', 'running', 'lease', digits(lease), 'retention', ARGV[4])
redis.call('PEXPIREAT', key, digits(lease + ARGV[4]))
if not found[1] then
	redis.call('HSET', key, 'fingerprint', ARGV[1], 'created', digits(now))
	return {'claimed', {}}
end
local steps = {}
local fields = redis.call('HGETALL', key)
for n = 1, #fields, 2 do
	if string.sub(fields[n], 1, 1) == '"' then
		steps[#steps + 1] = fields[n]
		steps[#steps + 1] = fields[n + 1]
	end
end
return {'claimed', steps}
`

/** Arguments: token, lease. */
const HEARTBEAT = `${NOW}${HELD}
local lease = now + ARGV[2]
redis.call('HSET', key, 'lease', digits(lease))
redis.call('PEXPIREAT', key, digits(lease + redis.call('HGET', key, 'retention')))
return 1
`

/** Arguments: token, name as JSON, value. */
const SAVE_STEP = `${NOW}${HELD}
redis.call('HSET', key, ARGV[2], ARGV[3])
return 1
`

/** Arguments: empty, retention, state, status, headers and body. With an empty state the next request runs. */
const RESOLVE = `${NOW}
local found = redis.call('HMGET', key, 'state', 'lease')
if found[1] ~= 'running' or found[2] - now > 0 then return 0 end
if ARGV[3] == '' then ${RELEASE} end
${COMPLETE}
`

/** Arguments: whether a key whose lease has not ended is deleted too. */
const DELETE = `${NOW}
local found = redis.call('HMGET', key, 'state', 'lease')
if not found[1] or (found[1] == 'running' and found[2] - now > 0 and ARGV[1] ~= 'forced') then return 0 end
redis.call('DEL', key)
return 1
`

const FIND = `${NOW}
local found = redis.call('HMGET', key, 'state', 'created', 'lease', 'completed', 'status', 'token')
if not found[1] then return false end
local steps = {}
for _, field in ipairs(redis.call('HKEYS', key)) do
	if string.sub(field, 1, 1) == '"' then steps[#steps + 1] = field end
end
return {digits(now), redis.call('PTTL', key), redis.call('HSTRLEN', key, 'body'), steps, found}
`

/** A script and its SHA-1, by which the server knows it. */
export class RedisScript {
	readonly text: string
	#sha: string | undefined

	constructor(text: string) {
		this.text = text
	}

	/** A promise the first time only: WebCrypto, which every runtime has, is asynchronous. */
	get sha(): string | Promise<string> {
		return this.#sha ?? this.#hash()
	}

	async #hash(): Promise<string> {
		const digest = await crypto.subtle.digest('SHA-1', new TextEncoder().encode(this.text))
		const bytes = Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0'))
		this.#sha = bytes.join('')
		return this.#sha
	}
}

type Operation = 'claim' | 'heartbeat' | 'saveStep' | 'complete' | 'release' | 'resolve' | 'delete' | 'find'

export const SCRIPTS: Readonly<Record<Operation, RedisScript>> = {
	claim: new RedisScript(CLAIM),
	heartbeat: new RedisScript(HEARTBEAT),
	saveStep: new RedisScript(SAVE_STEP),
	complete: new RedisScript(`${NOW}${HELD}${COMPLETE}`),
	release: new RedisScript(`${NOW}${HELD}${RELEASE}`),
	resolve: new RedisScript(RESOLVE),
	delete: new RedisScript(DELETE),
	find: new RedisScript(FIND),
}
