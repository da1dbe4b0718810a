/**
 * `npm run blocks`: builds, packs and installs the package, copies every `ts` block of the documentation into a folder of its own in that project
 * as a reader would, and runs it. A block fails if it throws, does not end, prints other text than the page, or contains a function that was never
 * called: handlers have to run too. Then the tests of the tutorials run with copies of their blocks. Arguments choose pages: `-- retry` runs the
 * blocks of pages whose path contains "retry".
 */
import { spawnSync } from 'node:child_process'
import { existsSync, globSync, mkdirSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type Block, blocks, PAGES_WITH_PACKAGES, pages } from '../test/examples/markdown.ts'
import { startPostgres } from '../test/support/real-postgres.ts'
import { copyBlock, runCopy } from './blocks/copy.ts'
import { pack } from './pack.ts'
import { ROOT, run } from './tools.ts'

/** Blocks that run at the same time. Most of them wait. */
const AT_A_TIME = 3

const chosen = process.argv.slice(2)
const isChosen = (path: string): boolean => chosen.length === 0 || chosen.some((text) => path.includes(text))

// A translation has the blocks of its source.
const all = pages()
	.filter(({ path }) => !PAGES_WITH_PACKAGES.includes(path) && !path.endsWith('.ja.md'))
	.flatMap(blocks)
	.filter(({ language }) => language === 'ts')
/** Files of tutorials are programs that need each other. Those of Getting started run alone. */
const alone = all.filter(
	({ place, file = 'getting-started' }) => isChosen(place) && file.includes('getting-started'),
)

const built = run(process.execPath, ['scripts/build.ts'])
if (!built.ok) throw new Error(`The build failed:\n${built.output}`)
const packed = pack()
try {
	linkPackages(packed.home)
	const failed = await runBlocks()
	console.log(`${alone.length - failed} passed, ${failed} failed`)
	process.exitCode = failed > 0 ? 1 : runTutorials()
} finally {
	packed.remove()
}

/** Returns the number of blocks that failed. */
async function runBlocks(): Promise<number> {
	await using postgres = await startPostgres()
	const { host, port, user, password, database } = postgres.connection
	const env = {
		PGHOST: host,
		PGPORT: String(port),
		PGUSER: user,
		PGPASSWORD: password,
		PGDATABASE: database,
	}
	let failed = 0
	const runInTurn = async (queue: Block[]) => {
		for (let block = queue.shift(); block; block = queue.shift()) {
			const faults = await runCopy(copyBlock(packed.home, block), block, env)
			if (faults.length === 0) continue
			failed++
			console.log([block.place, ...faults].join('\n  '))
		}
	}
	// Blocks with a server use the same ports, and those with PostgreSQL the same tables.
	const isShared = ({ code }: Block) => /\blisten\(|from 'pg'/.test(code)
	const others = alone.filter((block) => !isShared(block))
	const queues = [alone.filter(isShared), ...Array<Block[]>(AT_A_TIME - 1).fill(others)]
	await Promise.all(queues.map(runInTurn))
	return failed
}

/** Returns the exit status. */
function runTutorials(): number {
	const tests = globSync('test/examples/*.tutorial.test.ts', { cwd: ROOT }).filter(isChosen)
	if (tests.length === 0) return 0
	const vitest = join(ROOT, 'node_modules', 'vitest', 'vitest.mjs')
	const env = { ...process.env, YAOKI_PROJECT: packed.home }
	const args = [vitest, 'run', '--project', 'tutorials', ...tests]
	return spawnSync(process.execPath, args, { cwd: ROOT, env, stdio: 'inherit' }).status ?? 1
}

/** The packages that blocks import beside yaoki, with the versions of this repository. */
function linkPackages(home: string): void {
	const names = all.flatMap(({ code }) => [...code.matchAll(/from '((?:@[\w-]+\/)?[\w-]+)/g)])
	for (const name of new Set(names.map(([, found = '']) => found))) {
		const installed = join(ROOT, 'node_modules', name)
		const link = join(home, 'node_modules', name)
		if (name === 'yaoki' || !existsSync(installed)) continue
		mkdirSync(dirname(link), { recursive: true })
		symlinkSync(installed, link)
	}
}
