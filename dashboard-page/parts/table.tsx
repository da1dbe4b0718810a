/** A table. On a narrow screen its rows become cards: the roles keep it a table for screen readers. */
import type { ComponentChildren, JSX } from 'preact'

interface Column<Row> {
	readonly head: string
	readonly kind?: 'number' | 'main' | 'actions' | 'wide' | 'choice'
	readonly title?: string
	cell(row: Row): ComponentChildren
}

interface TableProperties<Row> {
	readonly caption: string
	readonly columns: readonly (Column<Row> | false)[]
	readonly rows: readonly Row[]
	/** Shown instead of a table without rows. */
	readonly empty?: string
	rowKey(row: Row): string
}

export function Table<Row>(properties: TableProperties<Row>): JSX.Element {
	const { caption, rows, rowKey, empty } = properties
	const columns = properties.columns.filter((column) => column !== false)
	if (rows.length === 0 && empty !== undefined) return <p class="empty">{empty}</p>
	return (
		<div class="scroll">
			{/* biome-ignore lint/a11y/noRedundantRoles: CSS changes the display of the table */}
			<table role="table">
				<caption class="hidden">{caption}</caption>
				{/* biome-ignore lint/a11y/noRedundantRoles: as above */}
				<thead role="rowgroup">
					{/* biome-ignore lint/a11y/noRedundantRoles: as above */}
					<tr role="row">
						{columns.map(({ head, kind, title }) => (
							// biome-ignore lint/a11y/noRedundantRoles: as above
							<th key={head} role="columnheader" scope="col" class={kind ?? ''} title={title}>
								{kind === 'choice' ? <span class="hidden">{head}</span> : head}
							</th>
						))}
					</tr>
				</thead>
				{/* biome-ignore lint/a11y/noRedundantRoles: as above */}
				<tbody role="rowgroup">
					{rows.map((row) => (
						// biome-ignore lint/a11y/noRedundantRoles: as above
						<tr key={rowKey(row)} role="row" tabIndex={-1} data-row="">
							{columns.map(({ head, kind, cell }) => (
								// biome-ignore lint/a11y/noRedundantRoles: as above
								<td key={head} role="cell" class={kind ?? ''} data-label={head}>
									<div class="value">{cell(row)}</div>
								</td>
							))}
						</tr>
					))}
				</tbody>
			</table>
		</div>
	)
}
