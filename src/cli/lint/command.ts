/**
 * `yaoki lint FILE`: `lint` of the root entry for everything that a module exports, as a CI check without a
 * test of its own. Importing the module runs it; there is no other way to know what it exports.
 */
import { isPolicy, type Policy } from '../../core/engine/policy.ts'
import { lint as lintPolicy } from '../../core/lint/lint.ts'
import { type Inspectable, inspectionOf } from '../../core/observe/inspection.ts'
import { formatCount } from '../../text/format.ts'
import { sanitizeText } from '../../text/sanitize.ts'
import { type Command, defineCommand } from '../command.ts'
import { usageError } from '../errors.ts'
import { number, text } from '../option-tables.ts'
import { unknownName } from '../parse-arguments.ts'
import { listExports, loadExports, withFileContext } from '../user-modules.ts'

type Target = Policy<unknown> | Inspectable

const isTarget = (value: unknown): value is Target => isPolicy(value) || inspectionOf(value) !== undefined

export const lint: Command = defineCommand({
	examples: [
		['yaoki lint src/policies.ts', 'every policy and client that the file exports; exit code 4 for findings'],
		['yaoki lint src/policies.ts --deadline-ms 2000', 'also compare the worst case with what callers wait'],
		['yaoki lint src/policies.ts --export payments', 'only this export'],
		['yaoki lint src/policies.ts --json', 'the reports as data'],
	],
	options: {
		deadlineMs: number('MS', 'how long callers wait for a result', { short: 'd', min: 0 }),
		export: text('NAME', 'lint only this export', { short: 'e', multiple: true }),
	},
	positionals: {
		file: { placeholder: 'FILE', description: 'a .js or .ts module that exports policies or clients' },
	},
	async run({ file, deadlineMs, export: names }, io) {
		const targets = selectTargets(file, await loadExports(file), names)
		const reports = targets.map(([name, target]) => ({
			name,
			report: withFileContext(file, '', () => lintPolicy(target, { deadlineMs })),
		}))
		const count = reports.reduce((sum, { report }) => sum + report.findings.length, 0)
		io.result(
			reports.map(({ name, report }) => ({ export: name, ...report })),
			() =>
				sanitizeText(
					reports
						.map(({ name, report }) => (name === report.name ? `${report}` : `${name}: ${report}`))
						.join('\n'),
				),
		)
		if (count === 0) return 'ok'
		io.note(`${formatCount(count, 'finding')} in ${file}`)
		return 'checkFailed'
	},
})

/** Nothing to lint is an error: a check that looks at nothing must not pass. */
function selectTargets(
	file: string,
	exports: ReadonlyMap<string, unknown>,
	names: readonly string[],
): (readonly [name: string, target: Target])[] {
	const found = [...exports].flatMap(([name, value]) => (isTarget(value) ? [[name, value] as const] : []))
	for (const name of names) {
		if (!exports.has(name)) throw unknownName('--export', name, [...exports.keys()])
		if (!found.some(([one]) => one === name))
			throw usageError(`Export "${name}" of ${file} is not a policy or a client.`)
	}
	if (found.length === 0)
		throw usageError(`${file} exports no policy and no client.${listExports([...exports.keys()])}`)
	const named = names.length === 0 ? found : found.filter(([name]) => names.includes(name))
	// A policy that is exported twice is one policy, and any name says more than "default".
	const isDefault = ([name]: (typeof found)[number]) => Number(name === 'default')
	named.sort((a, b) => isDefault(a) - isDefault(b))
	return named.filter(([, target], index) => named.findIndex(([, other]) => other === target) === index)
}
