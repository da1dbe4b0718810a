/** A block of the documentation in a folder of its own: writes it, runs it, and finds the functions in it that did not run. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Block } from '../../test/examples/markdown.ts'
import { guard } from '../../test/guard/guard.ts'
import { ROOT } from '../tools.ts'

/** For a busy machine. A block that keeps the process alive for so long does not end. */
const LIMIT_MS = 60_000
const NETWORK = pathToFileURL(join(ROOT, 'scripts', 'blocks', 'network.ts')).href
const VITEST = join(ROOT, 'node_modules', 'vitest', 'vitest.mjs')

/** Writes the block as it is. Returns its folder. */
export function copyBlock(home: string, { place, code }: Block): string {
	const folder = join(home, place.replaceAll(/[^\w.]/g, '-'))
	mkdirSync(folder)
	writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }\n')
	writeFileSync(join(folder, nameOf(code)), code)
	return folder
}

const nameOf = (code: string): string => (isTest(code) ? 'block.test.ts' : 'block.ts')
const isTest = (code: string): boolean => code.includes("from 'vitest'")

/** Runs the block. Returns what is wrong. */
export async function runCopy(folder: string, block: Block, env: Record<string, string>): Promise<string[]> {
	const coverage = join(folder, 'coverage')
	const program = isTest(block.code) ? [VITEST, 'run', '--root', folder] : ['--import', NETWORK, 'block.ts']
	const child = guard(
		spawn(process.execPath, program, {
			cwd: folder,
			env: { ...process.env, ...env, NODE_V8_COVERAGE: coverage, NO_COLOR: '1' },
			stdio: ['ignore', 'pipe', 'pipe'],
		}),
	)
	let stdout = ''
	let stderr = ''
	child.stdout.on('data', (chunk) => {
		stdout += chunk
	})
	child.stderr.on('data', (chunk) => {
		stderr += chunk
	})
	const limit = setTimeout(() => child.kill('SIGKILL'), LIMIT_MS)
	const [status] = await once(child, 'close')
	clearTimeout(limit)
	if (status === null) return [`does not end within ${LIMIT_MS / 1_000} s`]
	const [, thrown] = /\/\/ => throws (.+)/.exec(block.code) ?? []
	if (thrown !== undefined) return stderr.includes(thrown) ? [] : [`does not throw: ${thrown}`, stderr]
	if (status !== 0) return [stderr]
	if (isTest(block.code)) return []
	if (block.prints !== undefined && shape(stdout) !== shape(block.prints)) return [`prints: ${stdout}`]
	return uncalled(coverage, block.code).map((line) => `was not called: ${line}`)
}

/** Times and random numbers differ between runs. docs.slow.test.ts compares the exact text. */
const shape = (text: string): string => text.replaceAll(/[\d,.]+/g, '0').trim()

/** A comment in a line says that its function does not run: the call is rejected, or a signal is needed. */
const NOT_CALLED = /\/\/.*\bnot called\b/

function uncalled(coverage: string, code: string): string[] {
	return readdirSync(coverage)
		.flatMap((file) => (JSON.parse(readFileSync(join(coverage, file), 'utf8')) as Coverage).result)
		.filter(({ url }) => url.endsWith('/block.ts'))
		.flatMap(({ functions }) => functions.flatMap(({ ranges }) => ranges.slice(0, 1)))
		.filter(({ count }) => count === 0)
		.map(({ startOffset }) => lineAt(code, startOffset))
		.filter((line) => !NOT_CALLED.test(line))
}

function lineAt(code: string, offset: number): string {
	const end = code.indexOf('\n', offset)
	return code.slice(code.lastIndexOf('\n', offset) + 1, end < 0 ? undefined : end).trim()
}

/** The part of V8's report that is used. The first range of a function is the function. */
interface Coverage {
	readonly result: readonly {
		readonly url: string
		readonly functions: readonly {
			readonly ranges: readonly {
				readonly startOffset: number
				readonly endOffset: number
				readonly count: number
			}[]
		}[]
	}[]
}
