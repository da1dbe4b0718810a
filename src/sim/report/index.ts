/** `yaoki/sim/report`: runs studies and reports their results as text, HTML, SVG and JSON. Runs anywhere. */
export type { ChartOptions } from './chart-subject.ts'
export { type TextOptions, toHTML, toSVG, toText } from './report.ts'
export { runStudy } from './run-study.ts'
export { type JSONOptions, type StudyJSON, toJSON } from './study-json.ts'
export type { StudyResult } from './study-result.ts'
