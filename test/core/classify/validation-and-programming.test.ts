import assert from 'node:assert'
import { createRequire } from 'node:module'
import { createContext, runInContext } from 'node:vm'
import {
	brotliDecompressSync,
	deflateSync,
	gunzipSync,
	gzipSync,
	inflateSync,
	zstdDecompressSync,
} from 'node:zlib'
import { expect, test } from 'vitest'
import { classify, InvalidOptionError, isRetryable, permanent, retry } from 'yaoki'
import { z } from 'zod'
import { catchFailure, classifyFailure, PERMANENT, UNKNOWN } from './expected.ts'

/** Code that throws at run time and that the type checker must not see. */
const run = (code: string) => () => new Function(code)()

test.each([
	['a property of undefined', 'TypeError', 'undefined.port'],
	['a property of null', 'TypeError', 'null.timeout'],
	['an assignment to a property of undefined', 'TypeError', 'undefined.timeout = 1'],
	['a call of a value that is not a function', 'TypeError', 'const timeout = 1; timeout()'],
	['a loop over a value that is not iterable', 'TypeError', 'for (const _ of 1);'],
	['an unknown variable', 'ReferenceError', 'return nowhere'],
	['a variable read before its declaration', 'ReferenceError', 'early; let early = 1'],
	['an assignment to a constant', 'TypeError', 'const a = 1; a = 2'],
	['a change of a frozen object', 'TypeError', '"use strict"; Object.freeze({ timeout: 1 }).timeout = 2'],
	['a sum of a BigInt and a number', 'TypeError', '1n + 1'],
	['a cycle in JSON', 'TypeError', 'const abort = {}; abort.abort = abort; JSON.stringify(abort)'],
	['text that is not JSON', 'SyntaxError', 'JSON.parse("{")'],
	['invalid code', 'SyntaxError', 'new Function("{")'],
	['a list of negative length', 'RangeError', 'new Array(-1)'],
	['an infinite recursion', 'RangeError', 'const on = () => on() + 1; on()'],
	['a bad escape in a URL', 'URIError', 'decodeURIComponent("%")'],
	['an invalid URL', 'TypeError', 'new URL("nowhere")'],
])('%s is permanent', (_, name, code) => {
	const call = run(code)
	expect(call).toThrow(expect.objectContaining({ name }))
	return expect(classifyFailure(call)).resolves.toEqual(PERMANENT)
})

// Names of network failures can also be variables of a program.
test.each([
	'timeout',
	'timedOut',
	'networkError',
	'networkRequest',
	'throttled',
	'tooManyRequests',
	'poolTimeout',
])('a programming error about a variable "%s" is permanent', async (name) => {
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
		expect(await classifyFailure(run(code)), code).toEqual(PERMANENT)
})

test.each([
	"undefined is not an object (evaluating 'state.networkError')",
	"state.networkError is not a function. (In 'state.networkError()', 'state.networkError' is undefined)",
	`can't access property "networkError", state is undefined`,
	"Cannot read property 'networkError' of undefined",
])('"%s", a message of another JavaScript engine, is permanent', (message) => {
	expect(classify(new TypeError(message))).toEqual(PERMANENT)
})

test('an error of another realm is classified like one of this realm', () => {
	const realm = createContext({})
	expect(classify(runInContext('new TypeError("x is not a function")', realm))).toEqual(PERMANENT)
	expect(classify(runInContext('new TypeError("Failed to fetch")', realm)).kind).toBe('transient')
})

test('a Zod error is permanent, whatever its fields are named', async () => {
	const schema = z.object({ throttled: z.number(), timeout: z.number() })
	expect(await classifyFailure(() => schema.parse({ timeout: 'ECONNRESET' }))).toEqual(PERMANENT)
	expect(await classifyFailure(() => schema.parseAsync('too many requests'))).toEqual(PERMANENT)
	expect(classify(new Error('bad order', { cause: schema.safeParse({}).error }))).toEqual(PERMANENT)
})

test('issues of any Standard Schema are permanent', async () => {
	const result = await z.string()['~standard'].validate(503)
	expect(result.issues).toHaveLength(1)
	expect(classify(Object.assign(new Error('socket hang up'), { issues: result.issues }))).toEqual(PERMANENT)
	expect(classify({ issues: [] })).toEqual(PERMANENT)
})

test('an error named ValidationError is permanent', () => {
	expect(classify(Object.assign(new Error('"port" is required'), { name: 'ValidationError' }))).toEqual(
		PERMANENT,
	)
})

test('an InvalidOptionError is permanent', async () => {
	expect(await classifyFailure(() => retry({ maxRetries: -1 }))).toEqual(PERMANENT)
	expect(classify(new InvalidOptionError('timeout', 'timed out', 'a number'))).toEqual(PERMANENT)
})

test('an error marked with permanent() is permanent and is not changed', () => {
	const soldOut = Object.assign(new Error('sold out: too many requests'), { status: 503, code: 'ECONNRESET' })
	expect(isRetryable(soldOut)).toBe(true)
	const before = Reflect.ownKeys(soldOut)
	expect(permanent(soldOut)).toBe(soldOut)
	expect(Reflect.ownKeys(soldOut)).toEqual(before)
	expect(classify(soldOut)).toEqual(PERMANENT)
	expect(classify(new Error('order failed', { cause: soldOut }))).toEqual(PERMANENT)
	expect(classify(permanent(Object.freeze({})))).toEqual(PERMANENT)
})

test('a failed assertion is permanent, whatever its message says', async () => {
	expect(await classifyFailure(() => assert.equal(1, 2))).toEqual(PERMANENT)
	expect(await classifyFailure(() => assert(false, 'ECONNRESET: too many requests'))).toEqual(PERMANENT)
	expect(await classifyFailure(() => expect(1, 'timed out').toBe(2))).toEqual(PERMANENT)
})

test('a value that cannot be cloned is permanent, whatever its name', async () => {
	expect(await classifyFailure(() => structuredClone(function networkError() {}))).toEqual(PERMANENT)
})

// Vite resolves the imports of a test file itself.
const load = createRequire(import.meta.url)
test.each([
	['a missing module', 'MODULE_NOT_FOUND', () => load('no-such-package')],
	['a path that a package does not export', 'ERR_PACKAGE_PATH_NOT_EXPORTED', () => load('vitest/nowhere')],
	['an import that a package does not define', 'ERR_PACKAGE_IMPORT_NOT_DEFINED', () => load('#nowhere')],
	['a missing built-in module', 'ERR_UNKNOWN_BUILTIN_MODULE', () => load('node:nowhere')],
])('%s is permanent', async (_, code, call) => {
	const error = await catchFailure(call)
	expect(error).toHaveProperty('code', code)
	expect(classify(error)).toEqual(PERMANENT)
})

test.each([
	'ERR_MODULE_NOT_FOUND',
	'ERR_REQUIRE_ESM',
	'ERR_REQUIRE_ASYNC_MODULE',
	'ERR_UNSUPPORTED_DIR_IMPORT',
	'ERR_UNSUPPORTED_ESM_URL_SCHEME',
	'ERR_UNKNOWN_FILE_EXTENSION',
	'ERR_IMPORT_ATTRIBUTE_MISSING',
])('the module error %s is permanent', (code) => {
	const error = Object.assign(new Error("Cannot find module './timeout.js'"), { code })
	expect(classify(error)).toEqual(PERMANENT)
})

const corrupted = gzipSync('hello').map((byte, index) => (index === 12 ? byte ^ 255 : byte))
test.each([
	['gzip', 'Z_DATA_ERROR', () => gunzipSync('hello')],
	['corrupted gzip', 'Z_DATA_ERROR', () => gunzipSync(corrupted)],
	[
		'deflate with a dictionary',
		'Z_NEED_DICT',
		() => inflateSync(deflateSync('hello', { dictionary: Buffer.from('he') })),
	],
	[
		'Brotli',
		'ERR__ERROR_FORMAT_CL_SPACE',
		() => brotliDecompressSync(Buffer.from('hello world this is no Brotli')),
	],
	['Zstandard', 'ZSTD_error_prefix_unknown', () => zstdDecompressSync(Buffer.from('hello world'))],
])('invalid %s data is permanent, also as the cause of a terminated response', async (_, code, call) => {
	const error = await catchFailure(call)
	expect(error).toHaveProperty('code', code)
	expect(classify(error)).toEqual(PERMANENT)
	expect(classify(new TypeError('terminated', { cause: error }))).toEqual(PERMANENT)
})

test('compressed data that ends too early may be complete the next time', async () => {
	expect(await classifyFailure(() => gunzipSync(gzipSync('hello').subarray(0, 10)))).toEqual(UNKNOWN)
})
