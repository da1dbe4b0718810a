import { createContext, runInContext } from 'node:vm'
import { expect, test } from 'vitest'
import { classify, InvalidOptionError, isRetryable, permanent, retry } from 'yaoki'
import { z } from 'zod'
import { PERMANENT, verdict } from './verdicts.ts'

/** Code that the engine itself must reject, and no type checker may see. */
const run = (code: string) => () => new Function(code)()

test.each([
	['a property of undefined', 'TypeError', 'undefined.port'],
	['a property of null', 'TypeError', 'null.timeout'],
	['a property of undefined that is set', 'TypeError', 'undefined.timeout = 1'],
	['a call of what is no function', 'TypeError', 'const timeout = 1; timeout()'],
	['a loop over what is no list', 'TypeError', 'for (const _ of 1);'],
	['a name that does not exist', 'ReferenceError', 'return nowhere'],
	['a name that is read too early', 'ReferenceError', 'early; let early = 1'],
	['a change of a constant', 'TypeError', 'const a = 1; a = 2'],
	['a change of what is frozen', 'TypeError', '"use strict"; Object.freeze({ timeout: 1 }).timeout = 2'],
	['a sum of a BigInt and a number', 'TypeError', '1n + 1'],
	['a ring as JSON', 'TypeError', 'const abort = {}; abort.abort = abort; JSON.stringify(abort)'],
	['text that is not JSON', 'SyntaxError', 'JSON.parse("{")'],
	['code that can not be read', 'SyntaxError', 'new Function("{")'],
	['a list of negative length', 'RangeError', 'new Array(-1)'],
	['a recursion without end', 'RangeError', 'const on = () => on() + 1; on()'],
	['a bad escape in a URL', 'URIError', 'decodeURIComponent("%")'],
	['a URL that is none', 'TypeError', 'new URL("nowhere")'],
])('%s is permanent', (_, name, code) => {
	const call = run(code)
	expect(call).toThrow(expect.objectContaining({ name }))
	return expect(verdict(call)).resolves.toEqual(PERMANENT)
})

// What a client would call a failure of the network is a name like any other in a program.
test.each([
	'timeout',
	'timedOut',
	'networkError',
	'networkRequest',
	'throttled',
	'tooManyRequests',
	'poolTimeout',
])('a program that stumbles over its own "%s" is permanent', async (name) => {
	for (const code of [
		`undefined.${name}`,
		`null.${name}()`,
		`undefined.${name} = 1`,
		`const ${name} = 1; ${name}()`,
		`const ${name} = 1; new ${name}()`,
		`const ${name} = 1; for (const _ of ${name});`,
		`return ${name}`,
		`const { ${name} } = undefined`,
		`const [${name}] = undefined`,
	])
		expect(await verdict(run(code)), code).toEqual(PERMANENT)
})

test.each([
	"undefined is not an object (evaluating 'state.networkError')",
	"state.networkError is not a function. (In 'state.networkError()', 'state.networkError' is undefined)",
	`can't access property "networkError", state is undefined`,
	"Cannot read property 'networkError' of undefined",
])('in the words of another engine, "%s" is permanent', (message) => {
	expect(classify(new TypeError(message))).toEqual(PERMANENT)
})

test('an error of another realm is judged like one of our own', () => {
	const realm = createContext({})
	expect(classify(runInContext('new TypeError("x is not a function")', realm))).toEqual(PERMANENT)
	expect(classify(runInContext('new TypeError("Failed to fetch")', realm)).kind).toBe('transient')
})

test('what Zod refuses is permanent, whatever its fields are called', async () => {
	const schema = z.object({ throttled: z.number(), timeout: z.number() })
	expect(await verdict(() => schema.parse({ timeout: 'ECONNRESET' }))).toEqual(PERMANENT)
	expect(await verdict(() => schema.parseAsync('too many requests'))).toEqual(PERMANENT)
	expect(classify(new Error('bad order', { cause: schema.safeParse({}).error }))).toEqual(PERMANENT)
})

test('what any other Standard Schema refuses is permanent', async () => {
	const result = await z.string()['~standard'].validate(503)
	expect(result.issues).toHaveLength(1)
	expect(classify(Object.assign(new Error('socket hang up'), { issues: result.issues }))).toEqual(PERMANENT)
	expect(classify({ issues: [] })).toEqual(PERMANENT)
})

test('a validation error that only its name tells of is permanent', () => {
	expect(classify(Object.assign(new Error('"port" is required'), { name: 'ValidationError' }))).toEqual(
		PERMANENT,
	)
})

test('an option of the toolkit itself that can not work is permanent', async () => {
	expect(await verdict(() => retry({ maxRetries: -1 }))).toEqual(PERMANENT)
	expect(classify(new InvalidOptionError('timeout', 'timed out', 'a number'))).toEqual(PERMANENT)
})

test('what the user marks as permanent is permanent, whatever it says, and stays the same object', () => {
	const soldOut = Object.assign(new Error('sold out: too many requests'), { status: 503, code: 'ECONNRESET' })
	expect(isRetryable(soldOut)).toBe(true)
	const before = Reflect.ownKeys(soldOut)
	expect(permanent(soldOut)).toBe(soldOut)
	expect(Reflect.ownKeys(soldOut)).toEqual(before)
	expect(classify(soldOut)).toEqual(PERMANENT)
	expect(classify(new Error('order failed', { cause: soldOut }))).toEqual(PERMANENT)
	expect(classify(permanent(Object.freeze({})))).toEqual(PERMANENT)
})
