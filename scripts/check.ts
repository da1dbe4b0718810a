/** `npm run check`: checks everything that is not a test. Prints one line per step and stops at the first failure. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { staleTranslations } from './docs.ts'
import { type Packed, pack } from './pack.ts'
import { checkPatterns } from './patterns.ts'
import { inTurn, type Ran, ROOT, run, tool, tsc } from './tools.ts'
import { userModule } from './user-module.ts'
import { checkVocabulary } from './vocabulary.ts'

interface Step extends Ran {
	/** Printed after a success. */
	readonly note?: string
}

const STEPS: Readonly<Record<string, () => Step>> = {
	types: () =>
		inTurn(
			() => tsc('-p', 'tsconfig.json'),
			() => tsc('-p', 'tsconfig.anywhere.json'),
			() => tsc('-p', 'playground'),
			() => tsc('-p', 'dashboard-page'),
			() => tsc('-p', 'tsconfig.build.json', '--noEmit'),
			() => tsc('-p', 'tsconfig.cli.json', '--noEmit'),
		),
	lint: () => tool('@biomejs/biome', 'biome', ['ci', '--error-on-warnings', '--colors=off']),
	vocabulary: () => {
		const list = JSON.parse(readFileSync(join(ROOT, 'scripts', 'vocabulary.json'), 'utf8'))
		const output = checkVocabulary(ROOT, list).join('\n')
		return { ok: output === '', output, stdout: output }
	},
	patterns: () => {
		const output = checkPatterns(ROOT).join('\n')
		return { ok: output === '', output, stdout: output }
	},
	// A warning. Only `npm publish` fails.
	translations: () => ({ ok: true, output: '', stdout: '', note: staleTranslations().join('\n') }),
	architecture: () => tool('vitest', 'vitest', ['run', 'test/architecture', '--reporter=dot']),
	build: () => run(process.execPath, ['scripts/build.ts']),
	exports: () => {
		const packed = pack()
		try {
			const ran = inTurn(
				() => fewAndSmall(packed),
				() => tool('publint', 'publint', ['--strict', packed.tarball]),
				() =>
					tool('@arethetypeswrong/cli', 'attw', [
						'--no-definitely-typed',

						packed.tarball,
					]),
				() => userTypes(packed),
			)
			return { ...ran, note: `${packed.files} files, ${megabytes(packed.bytes)}` }
		} finally {
			packed.remove()
		}
	},
	'dead code': () => tool('knip', 'knip', ['--treat-config-hints-as-errors', '--no-progress']),
	size: () => {
		const ran = tool('size-limit', 'size-limit', ['--json'])
		return ran.ok ? { ...ran, note: sizes(ran.stdout) } : ran
	},
}

/** The limits of the packed package. */
const MAX_FILES = 300
const MAX_BYTES = 5_000_000

const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(3)} MB`

/** Many files make the first import slow, and many bytes every installation. */
function fewAndSmall({ files, bytes }: Packed): Ran {
	const ok = files <= MAX_FILES && bytes <= MAX_BYTES
	const output = ok
		? ''
		: `The package has ${files} files and ${megabytes(bytes)}; at most ${MAX_FILES} and ${megabytes(MAX_BYTES)} are allowed.`
	return { ok, output, stdout: output }
}

/** Entries that need Node's types, because of `node:sqlite`. */
const NODE_ONLY: readonly string[] = ['yaoki/outbox', 'yaoki/outbox/store', 'yaoki/outbox/testing']

/** The declarations must compile for a user without `skipLibCheck`: `stripInternal` can break them. */
function userTypes(packed: Packed): Ran {
	const { home, entries } = packed
	const all = [...entries.keys()]
	const anywhere = all.filter((entry) => !NODE_ONLY.includes(entry))
	const node = { lib: ['es2023'], types: ['node'], typeRoots: [join(ROOT, 'node_modules', '@types')] }
	// A browser project has no Node types, and a Node project may have no DOM types.
	return inTurn(
		() => compiled(reexport(anywhere), { lib: ['es2023', 'dom'], types: [] }),
		() => compiled(reexport(all), node),
		() => compiled(userModule(packed), { ...node, declaration: true }),
	)

	function reexport(used: readonly string[]): string {
		return used.map((entry, index) => `export * as entry${index} from '${entry}'\n`).join('')
	}

	function compiled(source: string, where: object): Ran {
		writeFileSync(join(home, 'user.ts'), source)
		const compilerOptions = {
			module: 'nodenext',
			target: 'es2023',
			...where,
			strict: true,
			exactOptionalPropertyTypes: true,
			skipLibCheck: false,
			noEmit: true,
		}
		writeFileSync(join(home, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['user.ts'] }))
		return tsc('-p', home)
	}
}

function sizes(json: string): string {
	const kilobytes = (bytes: number) => (bytes / 1000).toFixed(2)
	const measured: { name: string; size: number; sizeLimit: number }[] = JSON.parse(json)
	return measured
		.map((one) => `${one.name} ${kilobytes(one.size)} of ${kilobytes(one.sizeLimit)} kB`)
		.join(', ')
}

for (const [name, step] of Object.entries(STEPS)) {
	const from = performance.now()
	const { ok, output, note } = step()
	const seconds = ((performance.now() - from) / 1000).toFixed(1).padStart(5)
	if (!ok) process.stdout.write(`${output}\n`)
	console.log(`${name.padEnd(12)} ${ok ? 'ok    ' : 'FAILED'} ${seconds} s  ${note ?? ''}`.trimEnd())
	if (!ok) {
		console.log(`check failed at: ${name}`)
		process.exitCode = 1
		break
	}
}
