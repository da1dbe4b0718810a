/** `npm run peers`: the contract suites of adapters, interceptors, stores and exporters, with the lowest supported version of each peer. */
import { join } from 'node:path'
import type { Plugin } from 'vite'
import { defineConfig } from 'vitest/config'
import { ROOT, readJson } from '../../scripts/tools.ts'
import common from '../../vitest.config.ts'
import { DIFFERENCES } from './differences.ts'

const HOME = join(ROOT, 'test', 'peers')
const PEERS = Object.keys(Object(readJson(join(HOME, 'package.json'))['devDependencies']))

/** Resolves the imports of a peer as if they were in this folder, so that each import in tests gets the lowest version. */
const lowestPeers: Plugin = {
	name: 'lowest-peers',
	enforce: 'pre',
	resolveId(source) {
		if (source === '@opentelemetry/sdk-trace') return join(HOME, 'opentelemetry-sdk-trace.js')
		if (!PEERS.some((name) => source === name || source.startsWith(`${name}/`))) return null
		return this.resolve(source, join(HOME, 'package.json'), { skipSelf: true })
	},
}

/** The names have no character that a pattern would interpret. */
const different = Object.values(DIFFERENCES).flat().join('|')

const { projects: _projects, coverage: _coverage, ...shared } = common.test ?? {}

export default defineConfig({
	root: ROOT,
	resolve: common.resolve ?? {},
	plugins: [lowestPeers],
	test: {
		...shared,
		testNamePattern: new RegExp(`^(?!(${different})$)`),
		projects: [
			{
				extends: true,
				test: {
					name: 'peers',
					// The conformance suites of gRPC compare with a grpc-js whose internals the virtual server knows, the newest.
					include: [
						'test/grpc/{connect,grpc-js,server}/**/*.test.ts',
						'test/idempotency/{adapters,store/postgres,store/redis}/*.test.ts',
						'test/outbox/{enqueue,notify,store/postgres}/*.test.ts',
						'test/telemetry/{http,opentelemetry,prometheus}/*.test.ts',
					],
					exclude: ['**/*.slow.test.ts', '**/node_modules/**'],
					isolate: false,
				},
			},
			{
				extends: true,
				test: {
					name: 'peers in processes of their own',
					include: [
						'test/http/{adapters,server}/**/*.test.ts',
						'test/idempotency/adapters/{express,fastify,scenarios}.slow.test.ts',
						'test/idempotency/store/{postgres,redis}/*.slow.test.ts',
						'test/outbox/store/postgres/{conformance,connection,isolation,settling}.slow.test.ts',
					],
					exclude: ['**/node_modules/**'],
				},
			},
		],
	},
})
