"""The tables of the registry, with their constraints and indexes."""

import uuid

import django.contrib.auth.models
import django.contrib.auth.validators
import django.db.models.deletion
import django.db.models.functions.text
import django.db.models.lookups
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('auth', '__first__'),
    ]

    operations = [
        migrations.CreateModel(
            name='Namespace',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('slug', models.CharField(max_length=96)),
                ('kind', models.CharField(choices=[('user', 'User'), ('org', 'Org')], default='org', max_length=8)),
                ('display_name', models.CharField(blank=True, default='', max_length=200)),
                ('quota_bytes', models.BigIntegerField(blank=True, help_text="most bytes of files; null means the hub's preset", null=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
            ],
            options={
                'ordering': ['slug', 'pk'],
                'constraints': [
                    models.UniqueConstraint(django.db.models.functions.text.Lower('slug'), name='namespace_slug_unique'),
                    models.CheckConstraint(condition=models.Q(('kind__in', ['user', 'org'])), name='namespace_kind_known'),
                    models.CheckConstraint(condition=models.Q(('slug__regex', '^[A-Za-z0-9]([A-Za-z0-9._-]{0,94}[A-Za-z0-9])?$')), name='namespace_slug_pattern'),
                ],
            },
        ),
        migrations.CreateModel(
            name='User',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('password', models.CharField(max_length=128, verbose_name='password')),
                ('last_login', models.DateTimeField(blank=True, null=True, verbose_name='last login')),
                ('is_superuser', models.BooleanField(default=False, help_text='Designates that this user has all permissions without explicitly assigning them.', verbose_name='superuser status')),
                ('username', models.CharField(error_messages={'unique': 'A user with that username already exists.'}, help_text='Required. 150 characters or fewer. Letters, digits and @/./+/-/_ only.', max_length=150, unique=True, validators=[django.contrib.auth.validators.UnicodeUsernameValidator()], verbose_name='username')),
                ('first_name', models.CharField(blank=True, max_length=150, verbose_name='first name')),
                ('last_name', models.CharField(blank=True, max_length=150, verbose_name='last name')),
                ('email', models.EmailField(blank=True, max_length=254, verbose_name='email address')),
                ('is_staff', models.BooleanField(default=False, help_text='Designates whether the user can log into this admin site.', verbose_name='staff status')),
                ('is_active', models.BooleanField(default=True, help_text='Designates whether this user should be treated as active. Unselect this instead of deleting accounts.', verbose_name='active')),
                ('date_joined', models.DateTimeField(default=django.utils.timezone.now, verbose_name='date joined')),
                ('groups', models.ManyToManyField(blank=True, help_text='The groups this user belongs to. A user will get all permissions granted to each of their groups.', related_name='user_set', related_query_name='user', to='auth.group', verbose_name='groups')),
                ('user_permissions', models.ManyToManyField(blank=True, help_text='Specific permissions for this user.', related_name='user_set', related_query_name='user', to='auth.permission', verbose_name='user permissions')),
            ],
            options={
                'ordering': ['username', 'pk'],
            },
            managers=[
                ('objects', django.contrib.auth.models.UserManager()),
            ],
        ),
        migrations.CreateModel(
            name='Membership',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('namespace', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='memberships', to='registry.namespace')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='memberships', to=settings.AUTH_USER_MODEL)),
                ('role', models.CharField(choices=[('reader', 'Reader'), ('writer', 'Writer'), ('maintainer', 'Maintainer'), ('owner', 'Owner')], max_length=12)),
            ],
            options={
                'ordering': ['namespace_id', 'user_id', 'pk'],
                'constraints': [
                    models.UniqueConstraint(fields=('namespace', 'user'), name='membership_unique'),
                    models.CheckConstraint(condition=models.Q(('role__in', ['reader', 'writer', 'maintainer', 'owner'])), name='membership_role_known'),
                ],
            },
        ),
        migrations.CreateModel(
            name='RegisteredModel',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('namespace', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='models', to='registry.namespace')),
                ('name', models.CharField(max_length=96)),
                ('visibility', models.CharField(choices=[('public', 'Public'), ('private', 'Private')], default='public', max_length=8)),
                ('gate', models.CharField(choices=[('open', 'Open'), ('auto', 'Auto'), ('manual', 'Manual')], default='open', max_length=8)),
                ('summary', models.CharField(blank=True, default='', max_length=300)),
                ('license', models.CharField(blank=True, default='', max_length=64)),
                ('task', models.CharField(blank=True, default='', max_length=64)),
                ('keywords', models.JSONField(blank=True, default=list)),
                ('next_number', models.PositiveIntegerField(default=1)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('updated_at', models.DateTimeField(auto_now=True)),
                ('first_published_at', models.DateTimeField(blank=True, null=True)),
                ('opened_at', models.DateTimeField(blank=True, help_text='when the first commit without an ONNX model was made', null=True)),
                ('deleted_at', models.DateTimeField(blank=True, null=True)),
            ],
            options={
                'ordering': ['-updated_at', '-pk'],
                'constraints': [
                    models.UniqueConstraint(models.F('namespace'), django.db.models.functions.text.Lower('name'), condition=models.Q(('deleted_at', None)), name='registeredmodel_name_unique'),
                    models.CheckConstraint(condition=models.Q(('visibility__in', ['public', 'private'])), name='registeredmodel_visibility_known'),
                    models.CheckConstraint(condition=models.Q(('gate__in', ['open', 'auto', 'manual'])), name='registeredmodel_gate_known'),
                    models.CheckConstraint(condition=models.Q(('name__regex', '^[A-Za-z0-9]([A-Za-z0-9._-]{0,94}[A-Za-z0-9])?$')), name='registeredmodel_name_pattern'),
                    models.CheckConstraint(condition=models.Q(('next_number__gte', 1)), name='registeredmodel_next_number_positive'),
                ],
            },
        ),
        migrations.CreateModel(
            name='RetiredName',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(help_text='namespace/name in lower case', max_length=200, unique=True)),
                ('spelt', models.CharField(blank=True, default='', help_text='the same as addresses had it', max_length=200)),
                ('moved_to', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='former_names', to='registry.registeredmodel')),
                ('at', models.DateTimeField(auto_now_add=True)),
            ],
            options={
                'ordering': ['name', 'pk'],
                'constraints': [
                    models.CheckConstraint(condition=models.Q(('name__regex', '^[a-z0-9][a-z0-9._-]*/[a-z0-9][a-z0-9._-]*$')), name='retiredname_name_pattern'),
                    models.CheckConstraint(condition=models.Q(('spelt', ''), ('name', django.db.models.functions.text.Lower('spelt')), _connector='OR'), name='retiredname_spelt_is_name'),
                ],
            },
        ),
        migrations.CreateModel(
            name='AccessRequest',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('model', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='access_requests', to='registry.registeredmodel')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='access_requests', to=settings.AUTH_USER_MODEL)),
                ('status', models.CharField(choices=[('pending', 'Pending'), ('accepted', 'Accepted'), ('rejected', 'Rejected')], default='pending', max_length=8)),
                ('message', models.TextField(blank=True, default='')),
                ('asked_at', models.DateTimeField()),
                ('decided_at', models.DateTimeField(blank=True, null=True)),
                ('decided_by', models.ForeignKey(blank=True, help_text='nobody, where the gate let everybody in who asked', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='access_decisions', to=settings.AUTH_USER_MODEL)),
                ('reason', models.CharField(blank=True, default='', max_length=500)),
            ],
            options={
                'ordering': ['asked_at', 'pk'],
                'indexes': [
                    models.Index(fields=['model', 'status'], name='accessrequest_by_status'),
                ],
                'constraints': [
                    models.UniqueConstraint(fields=('model', 'user'), name='accessrequest_unique'),
                    models.CheckConstraint(condition=models.Q(('status__in', ['pending', 'accepted', 'rejected'])), name='accessrequest_status_known'),
                    models.CheckConstraint(condition=models.Q(models.Q(('decided_at', None), ('decided_by', None), ('status', 'pending')), models.Q(models.Q(('status', 'pending'), _negated=True), ('decided_at__isnull', False)), _connector='OR'), name='accessrequest_decided_has_time'),
                    models.CheckConstraint(condition=models.Q(models.Q(('status', 'rejected'), _negated=True), ('decided_by__isnull', False), _connector='OR'), name='accessrequest_rejected_by_somebody'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Backup',
            fields=[
                ('uuid', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('started_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('seen_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('ended_at', models.DateTimeField(blank=True, null=True)),
                ('is_whole', models.BooleanField(default=False)),
                ('restored_at', models.DateTimeField(blank=True, null=True)),
            ],
            options={
                'ordering': ['-started_at'],
                'constraints': [
                    models.CheckConstraint(condition=models.Q(('is_whole', False), ('ended_at__isnull', False), _connector='OR'), name='backup_whole_has_ended'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Blob',
            fields=[
                ('sha256', models.CharField(max_length=64, primary_key=True, serialize=False)),
                ('size', models.BigIntegerField()),
                ('media_type', models.CharField(default='application/octet-stream', max_length=100)),
                ('touched_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('erased_at', models.DateTimeField(blank=True, null=True)),
            ],
            options={
                'ordering': ['sha256'],
                'constraints': [
                    models.CheckConstraint(condition=models.Q(('sha256__regex', '^[0-9a-f]{64}$')), name='blob_sha256_pattern'),
                    models.CheckConstraint(condition=models.Q(('size__gte', 0)), name='blob_size_not_negative'),
                ],
            },
        ),
        migrations.CreateModel(
            name='BlobCheck',
            fields=[
                ('blob', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='check_state', serialize=False, to='registry.blob')),
                ('due_at', models.DateTimeField(db_index=True)),
                ('checked_at', models.DateTimeField(blank=True, null=True)),
                ('problem', models.CharField(blank=True, choices=[('', 'sound'), ('missing', 'is missing from storage'), ('size', 'has another size than its row says'), ('digest', 'has changed on disk'), ('unreadable', 'cannot be read')], default='', max_length=10)),
            ],
            options={
                'ordering': ['due_at', 'pk'],
                'constraints': [
                    models.CheckConstraint(condition=models.Q(('problem__in', ['', 'missing', 'size', 'digest', 'unreadable'])), name='blobcheck_problem_known'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Dataset',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('namespace', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='datasets', to='registry.namespace')),
                ('slug', models.CharField(max_length=96, unique=True)),
                ('title', models.CharField(max_length=200)),
                ('description', models.TextField(blank=True, default='')),
                ('iri', models.CharField(blank=True, default='', help_text='the name that the world has for it', max_length=500)),
                ('license', models.CharField(blank=True, default='', max_length=64)),
                ('personal_data', models.CharField(choices=[('unknown', 'Unknown'), ('yes', 'Yes'), ('anonymised', 'Anonymised'), ('no', 'No')], default='unknown', max_length=10)),
                ('categories', models.JSONField(blank=True, default=list, help_text="terms of DPV's PD")),
                ('legal_basis', models.CharField(blank=True, default='', max_length=64)),
                ('source', models.CharField(blank=True, default='', max_length=500)),
                ('rows', models.BigIntegerField(blank=True, null=True)),
                ('size_bytes', models.BigIntegerField(blank=True, null=True)),
                ('collected_on', models.DateField(blank=True, null=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('updated_at', models.DateTimeField(auto_now=True)),
                ('withdrawn_at', models.DateTimeField(blank=True, null=True)),
                ('reason', models.TextField(blank=True, default='')),
            ],
            options={
                'ordering': ['slug', 'pk'],
                'constraints': [
                    models.CheckConstraint(condition=models.Q(('slug__regex', '^[a-z0-9]([a-z0-9_-]{0,94}[a-z0-9])?$')), name='dataset_slug_pattern'),
                    models.CheckConstraint(condition=models.Q(('iri__regex', '^(https?://[A-Za-z0-9.-]+(:[0-9]{1,5})?([/?#][!#-;=?-Z_a-z~]*)?)?$')), name='dataset_iri_pattern'),
                    models.CheckConstraint(condition=models.Q(('personal_data__in', ['unknown', 'yes', 'anonymised', 'no'])), name='dataset_personal_data_known'),
                    models.UniqueConstraint(django.db.models.functions.text.Lower('iri'), condition=models.Q(('iri', ''), _negated=True), name='dataset_iri_unique'),
                    models.CheckConstraint(condition=models.Q(('title', ''), _negated=True), name='dataset_has_title'),
                    models.CheckConstraint(condition=models.Q(('legal_basis', ''), ('personal_data', 'yes'), _connector='OR'), name='dataset_legal_basis_of_personal_data'),
                    models.CheckConstraint(condition=models.Q(('rows', None), ('rows__gte', 0), _connector='OR'), name='dataset_rows_not_negative'),
                    models.CheckConstraint(condition=models.Q(('size_bytes', None), ('size_bytes__gte', 0), _connector='OR'), name='dataset_size_not_negative'),
                    models.CheckConstraint(condition=models.Q(('withdrawn_at', None), models.Q(('reason', ''), _negated=True), _connector='OR'), name='dataset_withdrawn_has_reason'),
                ],
            },
        ),
        migrations.CreateModel(
            name='DatasetVersion',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('dataset', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='versions', to='registry.dataset')),
                ('number', models.PositiveIntegerField()),
                ('sha256', models.CharField(max_length=64)),
                ('splits', models.JSONField(help_text='as hub.protocol.splits writes them')),
                ('message', models.CharField(blank=True, default='', max_length=500)),
                ('created_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='dataset_versions', to=settings.AUTH_USER_MODEL)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
            ],
            options={
                'ordering': ['-number', '-pk'],
                'constraints': [
                    models.UniqueConstraint(fields=('dataset', 'number'), name='datasetversion_number_unique'),
                    models.UniqueConstraint(fields=('dataset', 'sha256'), name='datasetversion_content_unique'),
                    models.CheckConstraint(condition=models.Q(('number__gte', 1)), name='datasetversion_number_positive'),
                    models.CheckConstraint(condition=models.Q(('sha256__regex', '^[0-9a-f]{64}$')), name='datasetversion_sha256_pattern'),
                ],
            },
        ),
        migrations.CreateModel(
            name='DatasetFile',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('version', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='files', to='registry.datasetversion')),
                ('path', models.CharField(max_length=512)),
                ('blob', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='dataset_files', to='registry.blob')),
            ],
            options={
                'ordering': ['path', 'pk'],
                'constraints': [
                    models.UniqueConstraint(fields=('version', 'path'), name='datasetfile_path_unique'),
                    models.CheckConstraint(condition=models.Q(models.Q(('path', ''), _negated=True), models.Q(('path__startswith', '/'), _negated=True), models.Q(('path__endswith', '/'), _negated=True), models.Q(('path__contains', '//'), _negated=True), models.Q(('path__contains', '\\'), _negated=True), models.Q(('path__regex', '(^|/)\\.\\.?(/|$)'), _negated=True)), name='datasetfile_path_relative'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Collection',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('namespace', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='collections', to='registry.namespace')),
                ('slug', models.CharField(max_length=96)),
                ('title', models.CharField(max_length=120)),
                ('description', models.TextField(blank=True, default='', help_text='plain text')),
                ('visibility', models.CharField(choices=[('public', 'Public'), ('private', 'Private')], default='public', max_length=8)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('updated_at', models.DateTimeField(default=django.utils.timezone.now, help_text='the last change that every reader of it can see')),
            ],
            options={
                'ordering': ['-pk'],
                'constraints': [
                    models.UniqueConstraint(fields=('namespace', 'slug'), name='collection_slug_unique'),
                    models.CheckConstraint(condition=models.Q(('slug__regex', '^[a-z0-9]([a-z0-9_-]{0,94}[a-z0-9])?$')), name='collection_slug_pattern'),
                    models.CheckConstraint(condition=models.Q(('visibility__in', ['public', 'private'])), name='collection_visibility_known'),
                    models.CheckConstraint(condition=models.Q(('title', ''), _negated=True), name='collection_has_title'),
                    models.CheckConstraint(condition=django.db.models.lookups.LessThanOrEqual(django.db.models.functions.text.Length('title'), 120), name='collection_title_length'),
                    models.CheckConstraint(condition=django.db.models.lookups.LessThanOrEqual(django.db.models.functions.text.Length('description'), 2000), name='collection_description_length'),
                ],
            },
        ),
        migrations.CreateModel(
            name='CollectionEntry',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('collection', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='entries', to='registry.collection')),
                ('model', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='collection_entries', to='registry.registeredmodel')),
                ('position', models.PositiveSmallIntegerField()),
                ('note', models.CharField(blank=True, default='', max_length=500)),
                ('added_at', models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                'verbose_name_plural': 'collection entries',
                'ordering': ['position', 'pk'],
                'constraints': [
                    models.UniqueConstraint(fields=('collection', 'model'), name='collectionentry_model_unique'),
                    models.UniqueConstraint(fields=('collection', 'position'), name='collectionentry_position_unique'),
                    models.CheckConstraint(condition=models.Q(('position__lt', 200)), name='collectionentry_position_in_range'),
                    models.CheckConstraint(condition=django.db.models.lookups.LessThanOrEqual(django.db.models.functions.text.Length('note'), 500), name='collectionentry_note_length'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Version',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('model', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='versions', to='registry.registeredmodel')),
                ('number', models.PositiveIntegerField()),
                ('commit_id', models.CharField(blank=True, max_length=40, null=True)),
                ('tree_id', models.CharField(blank=True, default='', max_length=40)),
                ('parent', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='children', to='registry.version')),
                ('branch', models.CharField(default='main', max_length=100)),
                ('message', models.CharField(blank=True, default='', max_length=500)),
                ('label', models.CharField(blank=True, default='', max_length=64)),
                ('state', models.CharField(choices=[('draft', 'Draft'), ('submitted', 'Submitted'), ('published', 'Published'), ('yanked', 'Yanked'), ('withdrawn', 'Withdrawn')], default='draft', max_length=10)),
                ('publish_requested', models.BooleanField(default=False)),
                ('card', models.JSONField(blank=True, default=dict)),
                ('readme', models.TextField(blank=True, default='')),
                ('manifest_sha256', models.CharField(blank=True, default='', max_length=64)),
                ('notes', models.TextField(blank=True, default='')),
                ('reason', models.TextField(blank=True, default='')),
                ('created_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='versions', to=settings.AUTH_USER_MODEL)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('submitted_at', models.DateTimeField(blank=True, null=True)),
                ('published_at', models.DateTimeField(blank=True, null=True)),
                ('ended_at', models.DateTimeField(blank=True, null=True)),
            ],
            options={
                'ordering': ['-number', '-pk'],
                'indexes': [
                    models.Index(fields=['model', 'state', '-number'], name='version_by_state'),
                ],
                'constraints': [
                    models.UniqueConstraint(fields=('model', 'number'), name='version_number_unique'),
                    models.UniqueConstraint(fields=('model', 'commit_id'), name='version_commit_unique'),
                    models.UniqueConstraint(condition=models.Q(('label', ''), _negated=True), fields=('model', 'label'), name='version_label_unique'),
                    models.CheckConstraint(condition=models.Q(('state__in', ['draft', 'submitted', 'published', 'yanked', 'withdrawn'])), name='version_state_known'),
                    models.CheckConstraint(condition=models.Q(('state', 'draft'), models.Q(('manifest_sha256__regex', '^[0-9a-f]{64}$'), ('commit_id__isnull', False)), _connector='OR'), name='version_frozen_has_manifest'),
                    models.CheckConstraint(condition=models.Q(models.Q(('state__in', ['yanked', 'withdrawn']), _negated=True), models.Q(('reason', ''), _negated=True), _connector='OR'), name='version_ended_has_reason'),
                    models.CheckConstraint(condition=models.Q(('number__gte', 1)), name='version_number_positive'),
                    models.CheckConstraint(condition=models.Q(models.Q(('state__in', ['published', 'yanked']), _negated=True), ('published_at__isnull', False), _connector='OR'), name='version_published_has_time'),
                ],
            },
        ),
        migrations.CreateModel(
            name='DraftKey',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('owner', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='draft_keys', to=settings.AUTH_USER_MODEL)),
                ('key', models.UUIDField()),
                ('version', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='keys', to='registry.version')),
                ('created_at', models.DateTimeField(auto_now_add=True)),
            ],
            options={
                'ordering': ['pk'],
                'indexes': [
                    models.Index(fields=['created_at'], name='draftkey_by_age'),
                ],
                'constraints': [
                    models.UniqueConstraint(fields=('owner', 'key'), name='draftkey_unique'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Check',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('version', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='checks', to='registry.version')),
                ('kind', models.CharField(max_length=32)),
                ('required', models.BooleanField(default=True)),
                ('outcome', models.CharField(choices=[('pending', 'Pending'), ('passed', 'Passed'), ('failed', 'Failed'), ('errored', 'Errored')], default='pending', max_length=8)),
                ('report', models.JSONField(blank=True, null=True)),
                ('updated_at', models.DateTimeField(auto_now=True)),
            ],
            options={
                'ordering': ['kind', 'pk'],
                'constraints': [
                    models.UniqueConstraint(fields=('version', 'kind'), name='check_kind_unique'),
                    models.CheckConstraint(condition=models.Q(('outcome__in', ['pending', 'passed', 'failed', 'errored'])), name='check_outcome_known'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Commit',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('model', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='commits', to='registry.registeredmodel')),
                ('version', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='commits', to='registry.version')),
                ('branch', models.CharField(max_length=100)),
                ('commit_id', models.CharField(max_length=40)),
                ('tree_id', models.CharField(max_length=40)),
                ('message', models.CharField(max_length=500)),
                ('author', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='commits', to=settings.AUTH_USER_MODEL)),
                ('created_at', models.DateTimeField()),
                ('precedes_model', models.BooleanField(default=False, help_text='the repository had no ONNX file up to this commit, so every reader may have it')),
            ],
            options={
                'ordering': ['-pk'],
                'constraints': [
                    models.UniqueConstraint(fields=('model', 'commit_id'), name='commit_id_unique'),
                    models.CheckConstraint(condition=models.Q(('commit_id__regex', '^[0-9a-f]{40}$')), name='commit_commit_id_pattern'),
                ],
            },
        ),
        migrations.CreateModel(
            name='CommitFile',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('commit', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='files', to='registry.commit')),
                ('path', models.CharField(max_length=512)),
                ('blob', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='commit_files', to='registry.blob')),
                ('git_oid', models.CharField(max_length=40)),
                ('lfs', models.BooleanField(default=False)),
            ],
            options={
                'ordering': ['path', 'pk'],
                'constraints': [
                    models.UniqueConstraint(fields=('commit', 'path'), name='commitfile_path_unique'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Branch',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('model', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='branches', to='registry.registeredmodel')),
                ('name', models.CharField(max_length=100)),
                ('version', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='branches', to='registry.version')),
                ('commit', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='branches', to='registry.commit')),
                ('created_at', models.DateTimeField(auto_now_add=True)),
            ],
            options={
                'ordering': ['name', 'pk'],
                'constraints': [
                    models.UniqueConstraint(fields=('model', 'name'), name='branch_name_unique'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Event',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('at', models.DateTimeField(default=django.utils.timezone.now)),
                ('actor', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='events', to=settings.AUTH_USER_MODEL)),
                ('verb', models.CharField(max_length=40)),
                ('subject_kind', models.CharField(max_length=20)),
                ('subject_id', models.CharField(max_length=40)),
                ('model', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='events', to='registry.registeredmodel')),
                ('request_id', models.CharField(blank=True, default='', max_length=64)),
                ('data', models.JSONField(default=dict)),
            ],
            options={
                'ordering': ['-pk'],
                'indexes': [
                    models.Index(fields=['subject_kind', 'subject_id'], name='event_by_subject'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Delivery',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('event', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='deliveries', to='registry.event')),
                ('consumer', models.CharField(max_length=40)),
                ('attempts', models.PositiveIntegerField(default=0)),
                ('next_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('error', models.TextField(blank=True, default='')),
            ],
            options={
                'verbose_name_plural': 'deliveries',
                'ordering': ['next_at', 'pk'],
                'indexes': [
                    models.Index(fields=['next_at'], name='delivery_due'),
                ],
                'constraints': [
                    models.UniqueConstraint(fields=('event', 'consumer'), name='delivery_unique'),
                ],
            },
        ),
        migrations.CreateModel(
            name='File',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('version', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='files', to='registry.version')),
                ('path', models.CharField(max_length=512)),
                ('blob', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='files', to='registry.blob')),
                ('git_oid', models.CharField(max_length=40)),
                ('lfs', models.BooleanField(default=False)),
                ('derived', models.BooleanField(default=False)),
            ],
            options={
                'ordering': ['path', 'pk'],
                'constraints': [
                    models.UniqueConstraint(fields=('version', 'path'), name='file_path_unique'),
                    models.CheckConstraint(condition=models.Q(('git_oid__regex', '^[0-9a-f]{40}$')), name='file_git_oid_pattern'),
                    models.CheckConstraint(condition=models.Q(models.Q(('path', ''), _negated=True), models.Q(('path__startswith', '/'), _negated=True), models.Q(('path__endswith', '/'), _negated=True), models.Q(('path__contains', '//'), _negated=True), models.Q(('path__contains', '\\'), _negated=True), models.Q(('path__regex', '(^|/)\\.\\.?(/|$)'), _negated=True)), name='file_path_relative'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Variant',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('version', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='variants', to='registry.version')),
                ('name', models.CharField(max_length=64)),
                ('origin', models.CharField(choices=[('uploaded', 'Uploaded'), ('upgraded', 'Upgraded'), ('converted', 'Converted')], default='uploaded', max_length=9)),
                ('entry', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='variants', to='registry.file')),
                ('opset', models.PositiveIntegerField(blank=True, null=True)),
                ('ir_version', models.PositiveIntegerField(blank=True, null=True)),
                ('precision', models.CharField(blank=True, default='', max_length=16)),
                ('parameters', models.BigIntegerField(blank=True, null=True)),
                ('macs', models.BigIntegerField(blank=True, help_text='multiply-accumulate operations, for usual sizes', null=True)),
                ('memory_bytes', models.BigIntegerField(blank=True, help_text='of weights and activations, for usual sizes', null=True)),
                ('facts', models.JSONField(default=dict)),
                ('derived_from', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='derivatives', to='registry.variant')),
                ('derivation', models.JSONField(blank=True, default=dict)),
                ('proof_strength', models.CharField(blank=True, choices=[('full', 'Full'), ('schema', 'Schema'), ('partial', 'Partial'), ('earlier-method', 'Earlier Method')], default='', max_length=14)),
                ('proof', models.JSONField(blank=True, help_text='the evidence, as hub.protocol.proofs writes it', null=True)),
                ('job_uuid', models.UUIDField(blank=True, null=True)),
            ],
            options={
                'ordering': ['pk'],
                'constraints': [
                    models.UniqueConstraint(fields=('version', 'name'), name='variant_name_unique'),
                    models.CheckConstraint(condition=models.Q(('origin__in', ['uploaded', 'upgraded', 'converted'])), name='variant_origin_known'),
                    models.CheckConstraint(condition=models.Q(models.Q(('derived_from', None), ('origin', 'uploaded')), models.Q(('derived_from__isnull', False), ('job_uuid__isnull', False), models.Q(('origin', 'uploaded'), _negated=True)), _connector='OR'), name='variant_derived_names_source_and_job'),
                    models.CheckConstraint(condition=models.Q(models.Q(('origin', 'upgraded'), ('proof_strength__in', ['full', 'schema', 'partial', 'earlier-method'])), models.Q(('proof__isnull', True), ('proof_strength', ''), models.Q(('origin', 'upgraded'), _negated=True)), _connector='OR'), name='variant_upgraded_has_strength'),
                    models.CheckConstraint(condition=models.Q(models.Q(('proof__isnull', True), ('proof_strength__in', ['', 'earlier-method'])), models.Q(models.Q(('proof_strength__in', ['', 'earlier-method']), _negated=True), ('proof__isnull', False)), _connector='OR'), name='variant_strength_has_proof'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Like',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('model', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='likes', to='registry.registeredmodel')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='likes', to=settings.AUTH_USER_MODEL)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
            ],
            options={
                'ordering': ['-pk'],
                'constraints': [
                    models.UniqueConstraint(fields=('model', 'user'), name='like_unique'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Watch',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('model', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='watches', to='registry.registeredmodel')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='watches', to=settings.AUTH_USER_MODEL)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
            ],
            options={
                'ordering': ['-pk'],
                'constraints': [
                    models.UniqueConstraint(fields=('user', 'model'), name='watch_unique'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Mention',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('version', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='mentions', to='registry.version')),
                ('kind', models.CharField(choices=[('dataset', 'Dataset'), ('model', 'Model')], max_length=8)),
                ('name', models.CharField(max_length=500)),
            ],
            options={
                'ordering': ['kind', 'name', 'pk'],
                'indexes': [
                    models.Index(fields=['kind', 'name'], name='mention_by_name'),
                ],
                'constraints': [
                    models.UniqueConstraint(fields=('version', 'kind', 'name'), name='mention_unique'),
                    models.CheckConstraint(condition=models.Q(('kind__in', ['dataset', 'model'])), name='mention_kind_known'),
                ],
            },
        ),
        migrations.CreateModel(
            name='NameConfirmation',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('model', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='confirmed_names', to='registry.registeredmodel')),
                ('kind', models.CharField(choices=[('dataset', 'Dataset'), ('model', 'Model')], max_length=8)),
                ('name', models.CharField(help_text='in lower case', max_length=500)),
                ('dataset', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='confirmed_names', to='registry.dataset')),
                ('base', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='confirmed_as_base', to='registry.registeredmodel')),
                ('confirmed_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='confirmed_names', to=settings.AUTH_USER_MODEL)),
                ('confirmed_at', models.DateTimeField(auto_now_add=True)),
            ],
            options={
                'ordering': ['kind', 'name', 'pk'],
                'constraints': [
                    models.UniqueConstraint(fields=('model', 'kind', 'name'), name='nameconfirmation_unique'),
                    models.CheckConstraint(condition=models.Q(('kind__in', ['dataset', 'model'])), name='nameconfirmation_kind_known'),
                    models.CheckConstraint(condition=models.Q(models.Q(('base', None), ('dataset__isnull', False), ('kind', 'dataset')), models.Q(('base__isnull', False), ('dataset', None), ('kind', 'model')), _connector='OR'), name='nameconfirmation_one_entry_of_its_kind'),
                    models.CheckConstraint(condition=models.Q(models.Q(('name', ''), _negated=True), ('name', django.db.models.functions.text.Lower('name'))), name='nameconfirmation_name_is_key'),
                    models.CheckConstraint(condition=models.Q(('base', None), models.Q(('base', models.F('model')), _negated=True), _connector='OR'), name='nameconfirmation_not_itself'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Mirror',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('namespace', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='mirrors', to='registry.namespace')),
                ('url', models.CharField(help_text='origin of the source, without a path', max_length=300)),
                ('protocol', models.CharField(choices=[('hub', 'Hub'), ('huggingface', 'Huggingface')], max_length=12)),
                ('scope', models.CharField(choices=[('model', 'Model'), ('namespace', 'Namespace'), ('search', 'Search')], max_length=10)),
                ('selector', models.CharField(help_text='model, namespace or search text there', max_length=200)),
                ('visibility', models.CharField(blank=True, choices=[('public', 'Public'), ('private', 'Private')], default='', help_text='of the models made; empty: as at the source', max_length=8)),
                ('pull_through', models.BooleanField(default=False)),
                ('interval_seconds', models.PositiveIntegerField(default=3600)),
                ('is_paused', models.BooleanField(default=False)),
                ('sealed_token', models.TextField(blank=True, default='')),
                ('created_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='mirrors', to=settings.AUTH_USER_MODEL)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('next_at', models.DateTimeField(blank=True, null=True)),
                ('claim', models.UUIDField(blank=True, null=True)),
                ('claimed_until', models.DateTimeField(blank=True, null=True)),
                ('synced_at', models.DateTimeField(blank=True, null=True)),
                ('failures', models.PositiveIntegerField(default=0)),
                ('error', models.TextField(blank=True, default='')),
                ('step', models.CharField(blank=True, default='', max_length=300)),
                ('received_bytes', models.BigIntegerField(default=0, help_text='of the last synchronisation')),
            ],
            options={
                'ordering': ['pk'],
                'indexes': [
                    models.Index(fields=['is_paused', 'next_at'], name='mirror_due'),
                ],
                'constraints': [
                    models.CheckConstraint(condition=models.Q(('protocol__in', ['hub', 'huggingface'])), name='mirror_protocol_known'),
                    models.CheckConstraint(condition=models.Q(('scope__in', ['model', 'namespace', 'search'])), name='mirror_scope_known'),
                    models.UniqueConstraint(fields=('namespace', 'url', 'scope', 'selector'), name='mirror_source_unique'),
                    models.UniqueConstraint(condition=models.Q(('pull_through', True)), fields=('namespace',), name='mirror_pull_unique'),
                    models.CheckConstraint(condition=models.Q(('pull_through', False), ('scope', 'namespace'), _connector='OR'), name='mirror_pull_has_namespace'),
                    models.CheckConstraint(condition=models.Q(('interval_seconds__gte', 60), ('interval_seconds__lte', 2592000)), name='mirror_interval_bounded'),
                    models.CheckConstraint(condition=models.Q(('visibility', ''), ('visibility__in', ['public', 'private']), _connector='OR'), name='mirror_visibility_known'),
                ],
            },
        ),
        migrations.CreateModel(
            name='MirroredModel',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('mirror', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='mirrored', to='registry.mirror')),
                ('ref', models.CharField(max_length=200)),
                ('model', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='mirrored', to='registry.registeredmodel')),
                ('problem', models.TextField(blank=True, default='')),
                ('requested_at', models.DateTimeField(blank=True, null=True)),
                ('synced_at', models.DateTimeField(blank=True, null=True)),
            ],
            options={
                'ordering': ['ref', 'pk'],
                'constraints': [
                    models.UniqueConstraint(fields=('mirror', 'ref'), name='mirroredmodel_unique'),
                    models.UniqueConstraint(condition=models.Q(('model__isnull', False)), fields=('model',), name='mirroredmodel_one_source'),
                ],
            },
        ),
        migrations.CreateModel(
            name='MirroredVersion',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('model', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='mirrored_versions', to='registry.registeredmodel')),
                ('number', models.PositiveIntegerField()),
                ('version', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='mirrored_from', to='registry.version')),
                ('state', models.CharField(choices=[('checking', 'Checking'), ('stored', 'Stored'), ('refused', 'Refused'), ('conflict', 'Conflict'), ('failed', 'Failed')], max_length=10)),
                ('problem', models.TextField(blank=True, default='')),
                ('url', models.CharField(max_length=300)),
                ('ref', models.CharField(max_length=200)),
                ('source_state', models.CharField(default='published', max_length=10)),
                ('commit_id', models.CharField(blank=True, default='', max_length=40)),
                ('manifest_sha256', models.CharField(blank=True, default='', max_length=64)),
                ('author', models.CharField(blank=True, default='', max_length=300)),
                ('published_at', models.CharField(blank=True, default='', max_length=40)),
                ('statements', models.JSONField(blank=True, default=list)),
                ('stated_at', models.DateTimeField(blank=True, null=True)),
                ('fetched_at', models.DateTimeField(auto_now_add=True)),
            ],
            options={
                'ordering': ['model_id', 'number', 'pk'],
                'constraints': [
                    models.UniqueConstraint(fields=('model', 'number'), name='mirroredversion_unique'),
                    models.CheckConstraint(condition=models.Q(('state__in', ['checking', 'stored', 'refused', 'conflict', 'failed'])), name='mirroredversion_state_known'),
                    models.CheckConstraint(condition=models.Q(('manifest_sha256', ''), ('manifest_sha256__regex', '^[0-9a-f]{64}$'), _connector='OR'), name='mirroredversion_manifest_sha256_pattern'),
                    models.CheckConstraint(condition=models.Q(models.Q(('state__in', ['refused', 'conflict', 'failed']), _negated=True), models.Q(('problem', ''), _negated=True), _connector='OR'), name='mirroredversion_problem_stated'),
                ],
            },
        ),
        migrations.CreateModel(
            name='PeriodicTask',
            fields=[
                ('name', models.CharField(max_length=40, primary_key=True, serialize=False)),
                ('succeeded_at', models.DateTimeField(blank=True, null=True)),
                ('seconds', models.FloatField(default=0)),
                ('done', models.BigIntegerField(default=0)),
                ('done_bytes', models.BigIntegerField(default=0)),
                ('failed_at', models.DateTimeField(blank=True, null=True)),
                ('error', models.CharField(blank=True, default='', max_length=500)),
            ],
            options={
                'ordering': ['name'],
            },
        ),
        migrations.CreateModel(
            name='WorkTotal',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(max_length=20)),
                ('outcome', models.CharField(max_length=10)),
                ('attempts', models.BigIntegerField(default=0)),
                ('seconds', models.FloatField(default=0)),
                ('cpu_attempts', models.BigIntegerField(default=0)),
                ('cpu_seconds', models.FloatField(default=0)),
                ('metered_attempts', models.BigIntegerField(default=0)),
                ('joules', models.FloatField(default=0)),
            ],
            options={
                'ordering': ['kind', 'outcome'],
                'constraints': [
                    models.UniqueConstraint(fields=('kind', 'outcome'), name='worktotal_unique'),
                    models.CheckConstraint(condition=models.Q(('attempts__gte', 0), ('cpu_seconds__gte', 0), ('joules__gte', 0), ('seconds__gte', 0)), name='worktotal_not_negative'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Lease',
            fields=[
                ('name', models.CharField(max_length=60, primary_key=True, serialize=False)),
                ('holder', models.CharField(blank=True, default='', max_length=200)),
                ('expires_at', models.DateTimeField()),
            ],
            options={
                'ordering': ['name'],
            },
        ),
        migrations.CreateModel(
            name='Ref',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('model', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='refs', to='registry.registeredmodel')),
                ('kind', models.CharField(choices=[('branch', 'Branch'), ('tag', 'Tag'), ('alias', 'Alias')], max_length=8)),
                ('name', models.CharField(max_length=100)),
                ('version', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='refs', to='registry.version')),
                ('commit', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='tags', to='registry.commit')),
                ('author', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('updated_at', models.DateTimeField(auto_now=True)),
            ],
            options={
                'ordering': ['kind', 'name', 'pk'],
                'constraints': [
                    models.UniqueConstraint(fields=('model', 'name'), name='ref_name_unique'),
                    models.CheckConstraint(condition=models.Q(('kind__in', ['branch', 'tag', 'alias'])), name='ref_kind_known'),
                    models.CheckConstraint(condition=models.Q(('name__regex', '^[A-Za-z0-9][A-Za-z0-9._/-]*$')), name='ref_name_pattern'),
                    models.CheckConstraint(condition=models.Q(models.Q(('name', 'latest'), _negated=True), models.Q(('name__regex', '^[0-9]+$'), _negated=True), models.Q(('name__regex', '^[0-9a-f]{40}$'), _negated=True)), name='ref_name_unambiguous'),
                    models.CheckConstraint(condition=models.Q(models.Q(('commit__isnull', True), ('version__isnull', False)), models.Q(('commit__isnull', False), ('kind', 'tag'), ('version__isnull', True)), _connector='OR'), name='ref_names_one_thing'),
                ],
            },
        ),
        migrations.CreateModel(
            name='RefusedCard',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('model', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='refused_cards', to='registry.registeredmodel')),
                ('author', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='refused_cards', to=settings.AUTH_USER_MODEL)),
                ('version', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='refused_cards', to='registry.version')),
                ('content', models.BinaryField()),
                ('size', models.PositiveIntegerField(help_text='bytes')),
                ('sha256', models.CharField(max_length=64)),
                ('detail', models.TextField(help_text='why it was refused')),
                ('sent_at', models.DateTimeField()),
            ],
            options={
                'ordering': ['-sent_at', '-pk'],
                'constraints': [
                    models.UniqueConstraint(fields=('model', 'author', 'sha256'), name='refusedcard_unique'),
                    models.CheckConstraint(condition=models.Q(('sha256__regex', '^[0-9a-f]{64}$')), name='refusedcard_sha256_pattern'),
                    models.CheckConstraint(condition=models.Q(('size__gt', 0), ('size__lte', 1000000)), name='refusedcard_size_bounded'),
                    models.CheckConstraint(condition=models.Q(('detail', ''), _negated=True), name='refusedcard_has_detail'),
                ],
            },
        ),
        migrations.CreateModel(
            name='SearchDocument',
            fields=[
                ('model', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='search_document', serialize=False, to='registry.registeredmodel')),
                ('title', models.CharField(max_length=200)),
                ('audience', models.BigIntegerField(help_text='0: everybody; else the id of the namespace whose members alone may see it')),
                ('namespace_slug', models.CharField(max_length=96)),
                ('license', models.CharField(blank=True, default='', max_length=64)),
                ('task', models.CharField(blank=True, default='', max_length=64)),
                ('keywords', models.JSONField(default=list)),
                ('precision', models.CharField(blank=True, default='', max_length=16)),
                ('opset', models.PositiveIntegerField(blank=True, null=True)),
                ('size', models.BigIntegerField(blank=True, null=True)),
                ('parameters', models.BigIntegerField(blank=True, null=True)),
                ('macs', models.BigIntegerField(blank=True, null=True)),
                ('memory_bytes', models.BigIntegerField(blank=True, null=True)),
                ('downloads', models.BigIntegerField(default=0, help_text='what DownloadCount said some minutes ago, for sorting')),
                ('updated_at', models.DateTimeField()),
                ('carbon_kg', models.FloatField(blank=True, help_text='kilograms of CO2e that training took, as declared', null=True)),
                ('latest', models.JSONField(blank=True, help_text='the newest published version, or null', null=True)),
                ('body', models.TextField(blank=True, default='')),
            ],
            options={
                'ordering': ['-updated_at', '-pk'],
                'indexes': [
                    models.Index(fields=['audience', '-updated_at', '-model'], name='search_by_updated'),
                    models.Index(fields=['audience', 'title', 'model'], name='search_by_title'),
                    models.Index(fields=['audience', '-downloads', '-model'], name='search_by_downloads'),
                    models.Index(fields=['audience', 'size', 'model'], name='search_by_size'),
                    models.Index(fields=['audience', 'carbon_kg', 'model'], name='search_by_carbon'),
                    models.Index(fields=['audience', 'parameters', 'model'], name='search_by_parameters'),
                    models.Index(fields=['audience', 'macs', 'model'], name='search_by_macs'),
                    models.Index(fields=['audience', 'memory_bytes', 'model'], name='search_by_memory'),
                    models.Index(fields=['audience', 'task', '-updated_at', '-model'], name='search_by_task'),
                    models.Index(fields=['audience', 'license', '-updated_at', '-model'], name='search_by_license'),
                    models.Index(fields=['audience', 'namespace_slug', '-updated_at', '-model'], name='search_by_namespace'),
                    models.Index(fields=['audience', 'precision'], name='search_by_precision'),
                    models.Index(fields=['audience', 'opset'], name='search_by_opset'),
                ],
            },
        ),
        migrations.CreateModel(
            name='DocumentKeyword',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('document', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='words', to='registry.searchdocument')),
                ('word', models.CharField(max_length=64)),
            ],
            options={
                'ordering': ['word', 'pk'],
                'indexes': [
                    models.Index(fields=['document', 'word'], name='keyword_of_document'),
                ],
                'constraints': [
                    models.UniqueConstraint(fields=('word', 'document'), name='keyword_unique'),
                ],
            },
        ),
        migrations.CreateModel(
            name='DocumentFact',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('document', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='facts', to='registry.searchdocument')),
                ('group', models.CharField(max_length=16)),
                ('value', models.CharField(max_length=96)),
            ],
            options={
                'ordering': ['group', 'value', 'pk'],
                'indexes': [
                    models.Index(fields=['document', 'group', 'value'], name='documentfact_of_document'),
                ],
                'constraints': [
                    models.UniqueConstraint(fields=('group', 'value', 'document'), name='documentfact_unique'),
                ],
            },
        ),
        migrations.CreateModel(
            name='DocumentSpeed',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('document', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='speeds', to='registry.searchdocument')),
                ('device', models.CharField(max_length=96)),
                ('device_title', models.CharField(max_length=200)),
                ('runtime', models.CharField(max_length=32)),
                ('provider', models.CharField(blank=True, default='', max_length=64)),
                ('status', models.CharField(choices=[('accepted', 'Accepted'), ('noisy', 'Noisy')], max_length=8)),
                ('p50_ms', models.FloatField()),
                ('p50_low_ms', models.FloatField(blank=True, null=True)),
                ('p50_high_ms', models.FloatField(blank=True, null=True)),
                ('result', models.BigIntegerField(help_text='the id of the result in its version')),
            ],
            options={
                'ordering': ['document', 'device', 'runtime', 'provider'],
                'indexes': [
                    models.Index(fields=['device', 'runtime', 'provider', 'status', 'p50_ms', 'document'], name='documentspeed_ranked'),
                ],
                'constraints': [
                    models.CheckConstraint(condition=models.Q(('status__in', ['accepted', 'noisy'])), name='documentspeed_status_known'),
                    models.UniqueConstraint(fields=('document', 'device', 'runtime', 'provider'), name='documentspeed_unique'),
                    models.CheckConstraint(condition=models.Q(('p50_ms__gt', 0)), name='documentspeed_positive'),
                ],
            },
        ),
        migrations.CreateModel(
            name='PredictedSpeed',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('document', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='predictions', to='registry.searchdocument')),
                ('variant', models.BigIntegerField(help_text='the id of the main variant that it is made for')),
                ('device', models.CharField(max_length=96)),
                ('device_title', models.CharField(max_length=200)),
                ('runtime', models.CharField(max_length=32)),
                ('provider', models.CharField(blank=True, default='', max_length=64)),
                ('p50_ms', models.FloatField()),
                ('low_ms', models.FloatField()),
                ('high_ms', models.FloatField()),
                ('models_measured', models.PositiveIntegerField(help_text='models that the fit was made from')),
            ],
            options={
                'ordering': ['document', 'device', 'runtime', 'provider'],
                'indexes': [
                    models.Index(fields=['device', 'runtime', 'provider', 'p50_ms', 'document'], name='predictedspeed_in_setup'),
                ],
                'constraints': [
                    models.UniqueConstraint(fields=('document', 'device', 'runtime', 'provider'), name='predictedspeed_unique'),
                    models.CheckConstraint(condition=models.Q(('high_ms__gte', models.F('p50_ms')), ('low_ms__gt', 0), ('low_ms__lte', models.F('p50_ms'))), name='predictedspeed_in_order'),
                ],
            },
        ),
        migrations.CreateModel(
            name='DocumentAccuracy',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('document', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='accuracies', to='registry.searchdocument')),
                ('metric', models.CharField(max_length=16)),
                ('dataset', models.CharField(max_length=96)),
                ('version', models.PositiveIntegerField(help_text='version of the data set')),
                ('split', models.CharField(max_length=200)),
                ('value', models.FloatField()),
                ('low', models.FloatField()),
                ('high', models.FloatField()),
                ('rows', models.PositiveIntegerField()),
            ],
            options={
                'verbose_name_plural': 'document accuracies',
                'ordering': ['document', 'metric', 'dataset', 'split'],
                'indexes': [
                    models.Index(fields=['metric', 'dataset', 'value', 'document'], name='documentaccuracy_ranked'),
                ],
                'constraints': [
                    models.UniqueConstraint(fields=('document', 'metric', 'dataset', 'split'), name='documentaccuracy_unique'),
                    models.CheckConstraint(condition=models.Q(('low__lte', models.F('high'))), name='documentaccuracy_interval'),
                ],
            },
        ),
        migrations.CreateModel(
            name='DocumentFacets',
            fields=[
                ('document', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='facets', serialize=False, to='registry.searchdocument')),
                ('pairs', models.TextField(blank=True, default='', help_text='group:value, one behind the other, see registry.facets')),
            ],
            options={
                'verbose_name_plural': 'document facets',
            },
        ),
        migrations.CreateModel(
            name='AccessToken',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='tokens', to=settings.AUTH_USER_MODEL)),
                ('name', models.CharField(max_length=100)),
                ('digest', models.CharField(max_length=64, unique=True)),
                ('prefix', models.CharField(max_length=12)),
                ('scopes', models.JSONField(default=list)),
                ('namespace', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, to='registry.namespace')),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('expires_at', models.DateTimeField()),
                ('last_used_at', models.DateTimeField(blank=True, null=True)),
            ],
            options={
                'ordering': ['-created_at', 'pk'],
                'constraints': [
                    models.CheckConstraint(condition=models.Q(('digest__regex', '^[0-9a-f]{64}$')), name='accesstoken_digest_pattern'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Upload',
            fields=[
                ('uuid', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('owner', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='uploads', to=settings.AUTH_USER_MODEL)),
                ('model', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='uploads', to='registry.registeredmodel')),
                ('bound_to', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='registry.namespace')),
                ('filename', models.CharField(blank=True, default='', max_length=512)),
                ('length', models.BigIntegerField()),
                ('offset', models.BigIntegerField(default=0)),
                ('claimed_sha256', models.CharField(blank=True, default='', max_length=64)),
                ('state', models.CharField(choices=[('receiving', 'Receiving'), ('stored', 'Stored'), ('refused', 'Refused'), ('abandoned', 'Abandoned')], default='receiving', max_length=10)),
                ('blob', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='uploads', to='registry.blob')),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('expires_at', models.DateTimeField()),
            ],
            options={
                'ordering': ['-created_at', 'pk'],
                'constraints': [
                    models.CheckConstraint(condition=models.Q(('offset__gte', 0), ('offset__lte', models.F('length'))), name='upload_offset_within_length'),
                    models.CheckConstraint(condition=models.Q(('state__in', ['receiving', 'stored', 'refused', 'abandoned'])), name='upload_state_known'),
                    models.CheckConstraint(condition=models.Q(models.Q(('state', 'stored'), _negated=True), ('blob__isnull', False), _connector='OR'), name='upload_stored_has_blob'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Reservation',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('owner', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='reservations', to=settings.AUTH_USER_MODEL)),
                ('namespace', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='reservations', to='registry.namespace')),
                ('size', models.BigIntegerField()),
                ('expires_at', models.DateTimeField()),
            ],
            options={
                'ordering': ['pk'],
                'constraints': [
                    models.CheckConstraint(condition=models.Q(('size__gte', 0)), name='reservation_size_not_negative'),
                ],
            },
        ),
        migrations.CreateModel(
            name='DownloadCount',
            fields=[
                ('model', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='download_count', serialize=False, to='registry.registeredmodel')),
                ('downloads', models.BigIntegerField(default=0)),
            ],
            options={
                'ordering': ['model'],
                'constraints': [
                    models.CheckConstraint(condition=models.Q(('downloads__gte', 0)), name='downloadcount_not_negative'),
                ],
            },
        ),
        migrations.CreateModel(
            name='XetStore',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('model', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='xet_store', to='registry.registeredmodel')),
                ('uuid', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('epoch', models.PositiveIntegerField(default=1)),
                ('used_at', models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                'ordering': ['pk'],
            },
        ),
        migrations.CreateModel(
            name='Xorb',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('store', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='xorbs', to='registry.xetstore')),
                ('name', models.CharField(help_text='its hash, as addresses have it', max_length=64)),
                ('lengths', models.BinaryField(help_text="each chunk's plain bytes, u32 little-endian")),
                ('size', models.PositiveIntegerField(help_text='bytes that storage holds of it')),
                ('is_kept', models.BooleanField(default=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
            ],
            options={
                'ordering': ['pk'],
                'constraints': [
                    models.UniqueConstraint(fields=('store', 'name'), name='xorb_name_unique'),
                    models.CheckConstraint(condition=models.Q(('name__regex', '^[0-9a-f]{64}$')), name='xorb_name_pattern'),
                ],
            },
        ),
        migrations.CreateModel(
            name='XorbPart',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('xorb', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='parts', to='registry.xorb')),
                ('start', models.PositiveIntegerField()),
                ('end', models.PositiveIntegerField()),
                ('blob', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='xorb_parts', to='registry.blob')),
                ('offset', models.BigIntegerField()),
            ],
            options={
                'ordering': ['xorb_id', 'start', 'pk'],
                'constraints': [
                    models.UniqueConstraint(fields=('xorb', 'start', 'end'), name='xorbpart_range_unique'),
                    models.CheckConstraint(condition=models.Q(('start__lt', models.F('end'))), name='xorbpart_range_not_empty'),
                ],
            },
        ),
        migrations.CreateModel(
            name='DiscussionCount',
            fields=[
                ('model', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='discussion_count', serialize=False, to='registry.registeredmodel')),
                ('last_number', models.PositiveIntegerField(default=0)),
            ],
            options={
                'ordering': ['pk'],
            },
        ),
        migrations.CreateModel(
            name='Discussion',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('title', models.CharField(max_length=200)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('edited_at', models.DateTimeField(blank=True, help_text='the last change of its title', null=True)),
                ('updated_at', models.DateTimeField(default=django.utils.timezone.now, help_text='the last comment or change of status')),
                ('comment_count', models.PositiveSmallIntegerField(default=0)),
                ('status', models.CharField(choices=[('open', 'Open'), ('closed', 'Closed')], default='open', max_length=6)),
                ('closed_at', models.DateTimeField(blank=True, null=True)),
                ('evidence_kind', models.CharField(blank=True, choices=[('benchmark', 'Benchmark'), ('conformance', 'Conformance'), ('evaluation', 'Evaluation')], default='', max_length=11)),
                ('evidence_id', models.PositiveBigIntegerField(blank=True, null=True)),
                ('node', models.CharField(blank=True, default='', help_text='name of a node of its graph', max_length=255)),
                ('author', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='discussions', to=settings.AUTH_USER_MODEL)),
                ('closed_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('model', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='discussions', to='registry.registeredmodel')),
                ('version', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='discussions', to='registry.version')),
            ],
            options={
                'ordering': ['-number', '-pk'],
                'indexes': [
                    models.Index(fields=['model', 'status', '-number'], name='discussion_by_status'),
                    models.Index(condition=models.Q(('evidence_kind', ''), _negated=True), fields=['evidence_kind', 'evidence_id'], name='discussion_by_evidence'),
                    models.Index(condition=models.Q(('status', 'open')), fields=['author', 'model'], name='discussion_open_by_author'),
                ],
                'constraints': [
                    models.UniqueConstraint(fields=('model', 'number'), name='discussion_number_unique'),
                    models.CheckConstraint(condition=models.Q(('number__gte', 1)), name='discussion_number_positive'),
                    models.CheckConstraint(condition=models.Q(models.Q(('title', ''), _negated=True), models.Q(('title__contains', '\n'), _negated=True)), name='discussion_has_title'),
                    models.CheckConstraint(condition=django.db.models.lookups.LessThanOrEqual(django.db.models.functions.text.Length('title'), 200), name='discussion_title_length'),
                    models.CheckConstraint(condition=django.db.models.lookups.LessThanOrEqual(django.db.models.functions.text.Length('node'), 255), name='discussion_node_length'),
                    models.CheckConstraint(condition=models.Q(('status__in', ['open', 'closed'])), name='discussion_status_known'),
                    models.CheckConstraint(condition=models.Q(models.Q(('closed_at', None), ('closed_by', None), ('status', 'open')), models.Q(('closed_at__isnull', False), ('closed_by__isnull', False), ('status', 'closed')), _connector='OR'), name='discussion_closed_has_time'),
                    models.CheckConstraint(condition=models.Q(models.Q(('evidence_id', None), ('evidence_kind', '')), models.Q(('evidence_id__isnull', False), ('evidence_kind__in', ['benchmark', 'conformance', 'evaluation']), ('version__isnull', False)), _connector='OR'), name='discussion_evidence_of_version'),
                    models.CheckConstraint(condition=models.Q(('node', ''), ('version__isnull', False), _connector='OR'), name='discussion_node_of_version'),
                    models.CheckConstraint(condition=models.Q(('comment_count__lte', 1000)), name='discussion_comment_count'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Comment',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveSmallIntegerField()),
                ('body', models.TextField(help_text='Markdown')),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('edited_at', models.DateTimeField(blank=True, null=True)),
                ('hidden_at', models.DateTimeField(blank=True, null=True)),
                ('hidden_reason', models.CharField(blank=True, default='', max_length=300)),
                ('author', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='comments', to=settings.AUTH_USER_MODEL)),
                ('hidden_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('discussion', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='comments', to='registry.discussion')),
            ],
            options={
                'ordering': ['number', 'pk'],
                'constraints': [
                    models.UniqueConstraint(fields=('discussion', 'number'), name='comment_number_unique'),
                    models.CheckConstraint(condition=models.Q(('number__gte', 1), ('number__lte', 1000)), name='comment_number_range'),
                    models.CheckConstraint(condition=models.Q(('body', ''), _negated=True), name='comment_has_body'),
                    models.CheckConstraint(condition=django.db.models.lookups.LessThanOrEqual(django.db.models.functions.text.Length('body'), 20000), name='comment_body_length'),
                    models.CheckConstraint(condition=django.db.models.lookups.LessThanOrEqual(django.db.models.functions.text.Length('hidden_reason'), 300), name='comment_hidden_reason_length'),
                    models.CheckConstraint(condition=models.Q(models.Q(('hidden_at', None), ('hidden_by', None), ('hidden_reason', '')), models.Q(('hidden_at__isnull', False), ('hidden_by__isnull', False)), _connector='OR'), name='comment_hidden_by_someone'),
                ],
            },
        ),
    ]
