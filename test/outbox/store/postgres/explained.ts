/** Records the statements that a store sends, and explains them as they are: with their settings, and with the plans that their connection has cached. */
import type pg from 'pg'

/** A node of a plan in JSON. */
export interface PlanNode {
	readonly 'Node Type': string
	readonly 'Relation Name'?: string
	readonly 'Index Name'?: string
	readonly 'Index Cond'?: string
	readonly 'Actual Rows'?: number
	readonly 'Actual Loops'?: number
	readonly 'Rows Removed by Filter'?: number
	readonly 'Rows Removed by Index Recheck'?: number
	/** Of the node and all nodes below it. */
	readonly 'Shared Hit Blocks'?: number
	readonly 'Shared Read Blocks'?: number
	readonly Plans?: readonly PlanNode[]
}

export function* nodesOf(plan: PlanNode): Generator<PlanNode> {
	yield plan
	for (const child of plan.Plans ?? []) yield* nodesOf(child)
}

/** The number of rows that a node has read in all its loops. */
export const rowsRead = (node: PlanNode): number =>
	(node['Actual Loops'] ?? 0) *
	((node['Actual Rows'] ?? 0) +
		(node['Rows Removed by Filter'] ?? 0) +
		(node['Rows Removed by Index Recheck'] ?? 0))

/** The number of pages that a plan has read, with repetitions. */
export const pagesRead = (plan: PlanNode): number =>
	(plan['Shared Hit Blocks'] ?? 0) + (plan['Shared Read Blocks'] ?? 0)

export interface Recorder {
	readonly pool: pg.Pool
	/** Texts that execute a prepared statement, the latest of each statement. */
	readonly texts: ReadonlyMap<string, string>
	/** Of several statements in one text, the first. */
	readonly latest: string
	/** Returns the plan that the text has now; `isRun` also executes it, and rolls back. */
	explain(
		text: string,
		options?: { readonly isCustom?: boolean; readonly isRun?: boolean },
	): Promise<PlanNode>
}

/** The pool must have one connection, because plans are cached by connection. */
export async function recordStatements(pool: pg.Pool): Promise<Recorder> {
	const texts = new Map<string, string>()
	let latest = ''
	let begin = ''
	const record = (text: string) => {
		if (text.includes('explain (')) return
		if (text.startsWith('begin')) begin = `${text} `
		if (text === 'commit' || text === 'rollback') begin = ''
		const [settings, ...executions] = text.split(/\bexecute (?=\w)/)
		const of = (execution: string) => `${begin || 'begin; '}${settings}execute ${execution}`
		for (const execution of executions) texts.set(/^\w+/.exec(execution)?.[0] ?? '', of(execution))
		if (executions[0] !== undefined) latest = of(executions[0])
	}
	const client = await pool.connect()
	const query = client.query.bind(client)
	Object.assign(client, {
		query(text: unknown, ...rest: unknown[]) {
			if (typeof text === 'string') record(text)
			return Reflect.apply(query, client, [text, ...rest])
		},
	})
	client.release()
	return {
		pool,
		texts,
		get latest() {
			return latest
		},
		async explain(text, { isCustom = false, isRun = false } = {}) {
			const explained = text
				.replace(
					/\bexecute (?=\w)/,
					`explain (format json${isRun ? ', analyze, buffers, timing off' : ''}) execute `,
				)
				.replace('force_generic_plan', isCustom ? 'force_custom_plan' : 'force_generic_plan')
			const results: unknown = await pool.query(explained)
			await pool.query('rollback')
			const last = (Array.isArray(results) ? results.at(-1) : results) as {
				rows: { 'QUERY PLAN': { Plan: PlanNode }[] }[]
			}
			const plan = last.rows[0]?.['QUERY PLAN'][0]?.Plan
			if (plan === undefined) throw new Error('the server returned no plan')
			return plan
		},
	}
}
