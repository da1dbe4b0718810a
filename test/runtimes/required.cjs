/**
 * Checks of the package as CommonJS loads it: that its entries share their state. Jest runs them (jest.cjs), and
 * this file itself runs them on Node, Bun and Deno. The last line of the output is the result, for scripts/runtimes.ts.
 */
const assert = require('node:assert/strict')
const process = require('node:process')
const yaoki = require('yaoki')
const http = require('yaoki/http')

const SUBPATHS = [
	...['grpc', 'http', 'idempotency', 'idempotency/testing', 'node', 'outbox', 'outbox/store'],
	...['outbox/testing', 'sim', 'sim/report', 'telemetry', 'telemetry/node', 'testing', 'webhooks'],
]

const failing = (error) => async () => {
	throw error
}
const ONE_RETRY = { maxRetries: 1, baseDelayMs: 0, jitterStrategy: 'none' }
const errorOf = (promise) =>
	promise.then(
		() => assert.fail('it did not fail'),
		(error) => error,
	)

const checks = {
	'require loads every entry': () => {
		assert.equal(typeof yaoki.retry, 'function')
		// `yaoki/outbox/store` has only types.
		const empty = SUBPATHS.filter((subpath) => Object.keys(require(`yaoki/${subpath}`)).length === 0)
		assert.deepEqual(empty, ['outbox/store'])
	},
	'the stack of an error names function, file and line, although the package is bundled': () => {
		const thrown = (() => {
			try {
				return yaoki.retry({ maxRetries: -1 })
			} catch (error) {
				return error
			}
		})()
		const [, line] = /readRetryOptions.*[\\/]chunks[\\/]core\.c?js:(\d+)/.exec(thrown.stack) ?? []
		assert.ok(Number(line) > 100, thrown.stack)
	},
	'functions and classes have the names under which they are exported': () => {
		for (const subpath of ['', ...SUBPATHS.map((path) => `/${path}`)]) {
			for (const [name, value] of Object.entries(require(`yaoki${subpath}`)))
				if (typeof value === 'function') assert.equal(value.name, name)
		}
	},
	'explain of yaoki reads the record of a client of yaoki/http': async () => {
		const client = new http.ResilientHttpClient({
			...ONE_RETRY,
			fetch: failing(new TypeError('fetch failed')),
		})
		const error = await errorOf(client.get('http://127.0.0.1/'))
		assert.equal(yaoki.explain(error).attempts.length, 2)
	},
	'an error that yaoki marks as permanent is not retried by yaoki/http': async () => {
		let calls = 0
		const fetch = async () => {
			calls++
			throw yaoki.permanent(new TypeError('fetch failed'))
		}
		await errorOf(http.resilientFetch({ ...ONE_RETRY, fetch })('http://127.0.0.1/'))
		assert.equal(calls, 1)
	},
	'a retry of yaoki leaves the retries to the caller that a context of yaoki/http names': async () => {
		const request = new Request('http://127.0.0.1/', { headers: { 'x-retry-layer': 'outermost' } })
		const context = http.createServerContext(request)
		assert.equal(http.getServerContext(request), context)
		let calls = 0
		const operation = async () => {
			calls++
			throw new TypeError('fetch failed')
		}
		await errorOf(yaoki.retry(ONE_RETRY).execute(operation, context))
		assert.equal(calls, 1)
	},
	'lint knows the policies inside a keyed pipeline': () => {
		const policies = () => yaoki.pipeline(yaoki.retry(), yaoki.timeout(50))
		const { worstMs } = yaoki.lint(policies())
		assert.ok(worstMs > 0 && worstMs < Infinity)
		assert.equal(yaoki.lint(yaoki.keyed(({ name = '' }) => name, policies)).worstMs, worstMs)
	},
	'an error of yaoki/outbox is an error of yaoki': () => {
		const { Outbox } = require('yaoki/outbox')
		assert.throws(() => new Outbox({}), yaoki.YaokiError)
	},
	'an outbox in SQLite stores a message': async () => {
		const { Outbox, sqliteOutboxStore } = require('yaoki/outbox')
		const outbox = new Outbox({ store: sqliteOutboxStore(':memory:') })
		await outbox.migrate()
		const { id } = await outbox.enqueue({ topic: 'order.placed', payload: {} }, { withoutTransaction: true })
		assert.equal((await outbox.find(id)).topic, 'order.placed')
		await outbox.close()
	},
	'a runtime of yaoki/testing drives a policy of yaoki': async () => {
		const runtime = require('yaoki/testing').virtualRuntime()
		const policy = yaoki.retry({ maxRetries: 1, baseDelayMs: 20_000, runtime })
		const failed = errorOf(policy.execute(failing(new TypeError('fetch failed'))))
		await runtime.advance(120_000)
		assert.equal(yaoki.explain(await failed).attempts.length, 2)
	},
}

/** What Jest cannot do: it rejects dynamic imports in its default configuration. */
const withImport = {
	'an error that one copy marks as permanent is permanent for the other': async () => {
		const { isRetryable } = await import('yaoki')
		assert.equal(isRetryable(yaoki.permanent(new TypeError('fetch failed'))), false)
	},
	'import and require load the same copy': async () => {
		assert.equal((await import('yaoki')).YaokiError, yaoki.YaokiError)
		assert.equal((await import('yaoki/outbox')).Outbox, require('yaoki/outbox').Outbox)
	},
}

module.exports = { checks }

async function main() {
	let passed = 0
	const failed = []
	for (const [name, check] of Object.entries({ ...checks, ...withImport })) {
		try {
			await check()
			passed++
		} catch (error) {
			failed.push({ name, error: String(error?.stack ?? error) })
		}
	}
	process.stdout.write(`${JSON.stringify({ passed, failed, skipped: [] })}\n`)
}

if (require.main === module) void main()
