/** The tests of all runtimes in Jest's default configuration. scripts/runtimes/jest.ts provides the suite as CommonJS, and the servers. */
const { writeFileSync } = require('node:fs')
const { AsyncLocalStorage } = require('node:async_hooks')
const process = require('node:process')
const { withAmbientContext } = require('yaoki/node')
const { checks } = require('./required.cjs')
const { SKIPPED, TESTS } = require('./suite.js')

const env = { ...JSON.parse(process.env.YAOKI_URLS), AsyncLocalStorage, withAmbientContext }
const skipped = []

for (const [name, check] of TESTS) {
	test(name, async () => {
		if ((await check(env)) === SKIPPED) skipped.push(name)
	}, 10_000)
}

for (const [name, check] of Object.entries(checks)) test(name, check)

afterAll(() => writeFileSync(process.env.YAOKI_SKIPPED, JSON.stringify(skipped)))
