/** Compares facts in the documentation with the code. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { describe, expect, test } from 'vitest'
import {
	adaptiveBulkhead,
	adaptiveThrottle,
	type BackoffOptions,
	bulkhead,
	calculateDelay,
	circuitBreaker,
	classify,
	fallback,
	hedge,
	keyed,
	presets,
	rateLimiter,
	retry,
	schedule,
	timeout,
} from 'yaoki'
import { readRetryOptions } from '../../src/core/retry/options.ts'
import { GRPC_CODES } from '../core/classify/expected.ts'
import { DIFFERENCES } from '../peers/differences.ts'
import { blocks, named, page, pages, ROOT, table, thousands, unquoted } from './markdown.ts'

describe('presets', () => {
	const guide = table(page('docs/guide/backoff.md'), 'preset', '`baseDelayMs`')

	const duration = (ms = Number.NaN): string =>
		ms < 120_000 ? `${Number((ms / 1_000).toFixed(2))} s` : `${(ms / 60_000).toFixed(1)} min`

	const rows = Object.entries(presets).map(([name, preset]) => {
		const { baseDelayMs, maxDelayMs, maxRetries, jitterStrategy, jitterFactor = '' } = preset
		const { minMs, meanMs, maxMs } = schedule(preset).total
		const settings = [baseDelayMs, maxDelayMs, maxRetries].map(thousands)
		return {
			settings: [`\`${name}\``, ...settings, `${jitterStrategy} ${jitterFactor}`.trim()],
			totals: [minMs, meanMs, maxMs].map(duration),
		}
	})

	test('match the table of the guide, with totals from schedule()', () => {
		expect(guide.map((row) => row.slice(0, 8))).toEqual(
			rows.map(({ settings, totals }) => [...settings, ...totals]),
		)
	})
})

describe('backoff', () => {
	const guide = page('docs/guide/backoff.md')

	test('every growth has the documented steps', () => {
		for (const [growth = '', , steps] of table(guide, '`growth`')) {
			const options = { growth: unquoted(growth), jitterStrategy: 'none' } as BackoffOptions
			const computed = [0, 1, 2, 3, 4].map((attempt) => thousands(calculateDelay(attempt, options)))
			expect(computed.join(' '), growth).toBe(steps)
		}
	})

	test('the defaults of growth and jitter are those of the code', () => {
		const defaults = guide.text.match(/`'[\w-]+'` \(default\)/g)?.map(unquoted)
		const { growth, jitterStrategy } = readRetryOptions({})
		expect(defaults).toEqual([growth, jitterStrategy])
	})
})

describe('classification', () => {
	const guide = page('docs/guide/classification.md')
	const KIND_NAMES = ['throttled', 'transient', 'permanent'] as const

	/** Returns the error that an entry of a family stands for. */
	const FAMILIES: Readonly<Record<string, (entry: string) => unknown>> = {
		HTTP: (entry) => ({ status: Number(entry) }),
		network: (code) => ({ code }),
		timeouts: (name) => ({ name }),
		DNS: (code) => ({ code }),
		TLS: (code) => ({ code }),
		files: (code) => ({ code }),
		'SQL: SQLSTATE and its classes': (entry) => ({ code: entry.padEnd(5, '0') }),
		Prisma: (entry) => (entry.endsWith('Error') ? { name: entry } : { code: entry }),
		MongoDB: (entry) =>
			entry.endsWith('Error')
				? { errorLabels: [entry] }
				: Number(entry)
					? { name: 'MongoServerError', code: Number(entry) }
					: { codeName: entry },
		MySQL: (entry) => (Number(entry) ? { errno: Number(entry) } : { code: entry }),
		SQLite: (code) => ({ code }),
		Redis: (entry) => ({ name: 'ReplyError', message: `${entry} said by the server` }),
		'Kafka (kafkajs)': (entry) => ({ retriable: entry.endsWith('true') }),
		'mail (nodemailer)': (code) => ({ code, command: 'API' }),
		'gRPC, by number or name': (entry) => {
			const [code = 0] = GRPC_CODES.find(([, name]) => name === entry) ?? []
			return { code, metadata: {} }
		},
		tRPC: (code) => ({ code }),
		'AWS, GCP, Azure': (name) => ({ name }),
		'OpenAI, Anthropic': (code) => ({ code, status: 429 }),
		Stripe: (code) => ({ code, status: 409 }),
		validation: (entry) => (entry === 'issues' ? { issues: [] } : { name: entry }),
		bodies: (code) => ({ code }),
		modules: (code) => ({ code }),
		programming: (name) => ({ name }),
	}

	const rows = table(guide, 'family').map(([family = '', ...cells]) => ({
		family,
		entries: KIND_NAMES.flatMap((kind, column) =>
			named(cells[column] ?? '').map((entry) => ({ kind, entry })),
		).filter(({ entry }) => entry !== 'cancelled'),
	}))

	test('the table of kinds lists every kind', () => {
		const kinds = table(guide, 'kind').map(([kind = '']) => named(kind)[0])
		expect(kinds).toEqual([...KIND_NAMES, 'cancelled'])
	})

	test('every family of the guide is compared with the code', () => {
		expect(rows.map(({ family }) => family)).toEqual(Object.keys(FAMILIES))
	})

	test.each(rows.filter(({ entries }) => entries.length > 0))(
		'every code of $family in the guide has that classification',
		({ family, entries }) => {
			for (const { kind, entry } of entries)
				expect([entry, classify(FAMILIES[family]?.(entry))]).toEqual([entry, { kind, isKnown: true }])
		},
	)

	test('the guide names every gRPC code, and the statuses and codes that SPEC lists', () => {
		const names = rows.flatMap(({ entries }) => entries.map(({ entry }) => entry))
		const documented = GRPC_CODES.map(([, name]) => name).filter((name) => name !== 'CANCELLED')
		expect(names).toEqual(expect.arrayContaining(documented))
		expect(names).toEqual(
			expect.arrayContaining([
				'429',
				'503',
				'404',
				'ECONNRESET',
				'ZodError',
				'40001',
				'23',
				'P2002',
				'11000',
				'1062',
			]),
		)
	})

	test('no cell of the guide has more than a dozen entries', () => {
		for (const [family, ...cells] of table(guide, 'family'))
			for (const cell of cells) expect([family, named(cell).length <= 12]).toEqual([family, true])
	})
})

describe('the README', () => {
	test('lists each policy with a link to its page', () => {
		const listed = table(page('README.md'), 'policy', 'use it when').map(([cell = '']) => named(cell)[0])
		const factories = { adaptiveBulkhead, adaptiveThrottle, bulkhead, circuitBreaker, fallback, hedge, keyed }
		const others = { rateLimiter, retry, timeout }
		expect(listed.sort()).toEqual(Object.keys({ ...factories, ...others }).sort())
	})
})

describe('the pages', () => {
	/** All pages. npm shows the README, so it links to the repository; these links become relative ones. */
	const linking = () =>
		pages().map(({ path, text }) => ({
			path,
			text: text.replaceAll(
				/\(https:\/\/github\.com\/OWNER\/yaoki\/(?:blob|tree)\/main\//g,
				`(${relative(dirname(path), '.') || '.'}/`,
			),
		}))

	test('link only to files that exist', () => {
		for (const { path, text } of linking()) {
			for (const [, target = ''] of text.matchAll(/\]\(([^)#]+)[^)]*\)/g)) {
				if (target.startsWith('https://')) continue
				expect(existsSync(join(ROOT, dirname(path), target)), `${path}: ${target}`).toBe(true)
			}
		}
	})

	test('link only to headings that exist', () => {
		const slugOf = (heading: string) =>
			heading
				.toLowerCase()
				.replaceAll(/[^\w\- ]/g, '')
				.replaceAll(' ', '-')
		for (const { path, text } of linking()) {
			for (const [, target = '', anchor = ''] of text.matchAll(/\]\(([^)#:]*)#([^)]+)\)/g)) {
				const there = page(target ? join(dirname(path), target) : path).text
				const slugs = [...there.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => slugOf(heading))
				expect(slugs, `${path}: ${target}#${anchor}`).toContain(anchor)
			}
		}
	})

	test('name only npm scripts that exist', () => {
		const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
		for (const { path, text } of pages()) {
			for (const [, script = ''] of text.matchAll(/\bnpm run ([\w-]+)/g)) {
				expect(Object.keys(scripts), `${path}: npm run ${script}`).toContain(script)
			}
		}
	})

	test('list every decision', () => {
		const decisions = pages().filter(({ path }) => /^docs\/decisions\/\d/.test(path))
		const listed = table(page('docs/decisions/README.md'), 'page').map(
			([link = '']) => /\((.*)\)/.exec(link)?.[1],
		)
		expect(listed).toEqual(decisions.map(({ path }) => path.replace('docs/decisions/', '')))
	})
})

test('the decisions list exactly the installed dependencies', () => {
	const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
	const { text } = page('docs/decisions/0006-dependencies.md')
	const listed = [...text.matchAll(/^- `([^`]+)`: \S/gm)].map(([, name]) => name)
	const installed = { ...manifest.dependencies, ...manifest.devDependencies }
	expect(listed.sort()).toEqual(Object.keys(installed).sort())
	expect(manifest.dependencies).toBeUndefined()
	for (const name of Object.keys(manifest.overrides ?? {})) expect(text).toContain(`\`${name}\``)
})

test('README has at most 180 lines, no list of parts on the first screen, starts with the install command, and has the two commands for a clone', () => {
	const readme = page('README.md')
	expect(readme.text.trimEnd().split('\n').length).toBeLessThanOrEqual(180)
	expect(readme.text.split('\n').slice(0, 40).join('\n')).not.toMatch(/^\|/m)
	const [install, clone] = blocks(readme).filter(({ language }) => language === 'sh')
	expect(install?.code.trim()).toBe('npm install yaoki')
	expect(clone?.code).toMatch(/^npm ci && npm start .*\nnpm ci && npm test /)
})

test('the sizes in the README are the limits of the bundles', () => {
	const limits: { name: string; limit: string }[] = JSON.parse(
		readFileSync(join(ROOT, '.size-limit.json'), 'utf8'),
	)
	const text = page('README.md').text.replaceAll('`', '')
	for (const { name, limit } of limits)
		if (['retryWithBackoff', 'four policies in a pipeline', 'resilientFetch'].includes(name))
			expect(text).toContain(`${name} ${limit}`)
})

test('the index of the guide links every example', () => {
	const examples = readdirSync(join(ROOT, 'examples')).filter((file) => file.endsWith('.ts'))
	const index = page('docs/guide/README.md').text
	for (const file of examples)
		expect(index).toContain(`(https://github.com/OWNER/yaoki/blob/main/examples/${file})`)
})

test('the table of commands in CONTRIBUTING lists every npm script', () => {
	const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
	const { text } = page('CONTRIBUTING.md')
	// npm runs these two by itself.
	const commands = Object.keys(scripts).filter((name) => name !== 'prepack' && name !== 'prepublishOnly')
	for (const name of commands) {
		const command = ['start', 'test'].includes(name) ? `npm ${name}` : `npm run ${name}`
		expect(text, command).toMatch(new RegExp(`\\b${command}(?![\\w:-])`))
	}
})

test('the lowest version of Node is the same in package.json, README and guide', () => {
	const { engines } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
	const lowest = `Node ${engines.node.replace('>=', '')} and later`
	expect(page('README.md').text).toContain(lowest)
	expect(table(page('docs/guide/runtime.md'), 'platform')[0]?.[0]).toBe(lowest)
})

describe('the versions of packages that users pass', () => {
	const readVersions = (file: string, key: string): Readonly<Record<string, string>> =>
		JSON.parse(readFileSync(join(ROOT, file), 'utf8'))[key]
	const lowest = readVersions('test/peers/package.json', 'devDependencies')
	const rows = table(page('docs/guide/runtime.md'), 'package', 'lowest', 'newest tested').map(
		// The second version of a package has an alias.
		([name = '', ...cells]) => [name.replace('` ', '-').replaceAll('`', ''), ...cells] as const,
	)
	const names = rows.map(([name]) => name)
	const servers = ['express', 'express-4', 'fastify', 'hono']

	test('the versions in the guide are those of test/peers and the installed ones', () => {
		for (const [name, from, to] of rows) {
			expect([name, lowest[name]?.replace(/^npm:.+@/, '')]).toEqual([name, from])
			const installed = JSON.parse(readFileSync(join(ROOT, 'node_modules', name, 'package.json'), 'utf8'))
			expect([name, to]).toEqual([name, installed.version])
		}
	})

	test('the versions of packages that users pass are the ranges of peerDependencies, without servers', () => {
		const peers = names.filter((name) => !servers.includes(name))
		expect(readVersions('package.json', 'peerDependencies')).toEqual(
			Object.fromEntries(peers.map((name) => [name, `>=${lowest[name]}`])),
		)
		expect(readVersions('package.json', 'peerDependenciesMeta')).toEqual(
			Object.fromEntries(peers.map((name) => [name, { optional: true }])),
		)
		expect(names).toEqual(expect.arrayContaining(servers))
	})

	test('the versions of packages for which a contract test differs have a note in the guide', () => {
		const noted = rows.filter(([, , , , note]) => note !== '').map(([name]) => name)
		expect(noted).toEqual(expect.arrayContaining(Object.keys(DIFFERENCES)))
	})
})

test('the versions of ORMs in the guide are those of test/orms', () => {
	const versions = (folder: string): Readonly<Record<string, string>> => {
		const { devDependencies } = JSON.parse(readFileSync(join(ROOT, folder, 'package.json'), 'utf8'))
		return Object.fromEntries(
			Object.entries(devDependencies).filter(([name]) => !name.startsWith('@types/')) as [],
		)
	}
	const [lowest, newest] = [versions('test/orms/lowest'), versions('test/orms')]
	const rows = table(page('docs/guide/orms.md'), 'package', 'lowest', 'newest tested')
	const documented = rows.map(([name = '', ...cells]) => [name.replaceAll('`', ''), ...cells.slice(0, 2)])
	expect(documented.sort()).toEqual(
		Object.keys(newest)
			.sort()
			.map((name) => [name, lowest[name], newest[name]]),
	)
})

test('the index of the guide links every page', () => {
	const guide = pages().filter(({ path }) => path.startsWith('docs/guide/') && !path.endsWith('README.md'))
	const index = page('docs/guide/README.md').text
	for (const { path } of guide) expect(index).toContain(`(${path.replace('docs/guide/', '')})`)
})
